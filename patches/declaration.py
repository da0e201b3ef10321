# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds where a source tree declares a record: at the place that DWARF names, or wherever it has moved to."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.model import Layout, Refusal, RefusalCode
from linesmith.patches.atoms import scope
from linesmith.patches.grammar import unreadable
from linesmith.patches.records import Record, records_named
from linesmith.patches.source_bytes import source_bytes

# A declaration with fewer of the layout's members is another record of the same name.
ENOUGH_MEMBERS = 0.5
_SUFFIXES = (".h", ".c", ".inc", ".hh", ".def")
_LAST = ("tools", "Documentation", "samples", "scripts")
_SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_SHOWN = 6
# No file of Linux 6.1 declares a record more than a few times, one for each configuration.
_MOST_RECORDS = 64


@dataclass(frozen=True, slots=True)
class Declared:
    """A record's declaration: ``file`` is relative to the tree, ``match`` the share of the layout's members in it."""

    file: str
    source: bytes
    record: Record
    match: float

    @property
    def place(self) -> str:
        """``file:line`` of the declaration."""
        return f"{self.file}:{self.record.line}"


def declaration(tree: Path, name: str, layout: Layout) -> Declared:
    """The declaration in ``tree`` of the record ``name`` whose members are those of ``layout``.

    ``layout`` may be that of an anonymous struct inside the record. Raises ``DeclarationNotFound``, and
    ``EditRefused`` with the places when several declarations fit equally well.
    """
    near: list[Declared] = []
    unread: list[str] = []
    recorded = recorded_file(tree, layout.file)
    if recorded is not None:
        near = _fitting(_declared(tree, recorded, name, layout, unread))
        exact = [one for one in near if one.record.line == layout.line]
        if near:
            return exact[0] if exact else _only(near, name)
    for files in _stages(tree):
        near = _fitting(one for file in files for one in _declared(tree, file, name, layout, unread))
        if near:
            return _only(near, name)
    raise _not_found(tree, name, layout, unread)


def recorded_file(tree: Path, recorded: str | None) -> str | None:
    """The file of the tree that a DWARF path means: the longest tail of the path that exists below ``tree``.

    The path may be absolute on another machine, relative to a build directory, or begin with ``./``.
    """
    parts = [part for part in posixpath.normpath(recorded or "").split("/") if part not in ("", ".", "..")]
    for start in range(len(parts)):
        file = "/".join(parts[start:])
        if (tree / file).is_file():
            return file
    return None


def _declared(tree: Path, file: str, name: str, layout: Layout, unread: list[str]) -> Iterator[Declared]:
    """The records called so in a file; a clause on each that cannot be looked into goes to ``unread``."""
    source = source_bytes(tree, file)
    if source is None:
        return
    wanted = {member.name for member in layout.members if member.name}
    found = records_named(source, name)
    if len(found) > _MOST_RECORDS:
        unread.append(f"{file} declares {name} {len(found)} times, more than the {_MOST_RECORDS} that are looked at")
    for record in found[:_MOST_RECORDS]:
        if why := unreadable(source, record):
            unread.append(f"{file}:{record.line} is not looked at, {why}")
        atoms = scope(source, record)[0].atoms
        present = {declared for atom in atoms for declared in (*atom.names, *atom.inner)}
        yield Declared(file, source, record, len(wanted & present) / len(wanted) if wanted else 1.0)


def _fitting(found: Iterable[Declared]) -> list[Declared]:
    """The declarations that fit best, if they fit at all."""
    good = [one for one in found if one.match >= ENOUGH_MEMBERS]
    best = max((one.match for one in good), default=0.0)
    return [one for one in good if one.match == best]


def _only(found: list[Declared], name: str) -> Declared:
    if len(found) == 1:
        return found[0]
    places = ", ".join(one.place for one in found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
    reason = (
        f"{name} is declared {len(found)} times with the same members ({places}), and the debug information "
        "does not say which one is meant"
    )
    lift = "use an ELF file built from this tree"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, found[0].place, reason, lift))


def _not_found(tree: Path, name: str, layout: Layout, unread: Sequence[str]) -> DeclarationNotFound:
    remedy = "check that --tree is the source the ELF file was built from"
    if recorded_file(tree, layout.file) is not None:
        remedy = f"that file is in the tree, so a macro generates the record, which cannot be patched; or {remedy}"
    said = f" (the debug information says {layout.place})" if layout.file else ""
    said += "".join(f"; {one}" for one in unread[:_SHOWN])
    return DeclarationNotFound(f"{tree} declares no record {name} with the members of the ELF file{said}; {remedy}")


def staged_files(tree: Path) -> Iterator[str]:
    """All C files of the tree, in the order in which a declaration is looked for."""
    for files in _stages(tree):
        yield from files


def _stages(tree: Path) -> Iterator[Iterator[str]]:
    """Files in the order of likelihood: headers below ``include``, then the rest, then copies and examples."""
    yield _files(tree, tree / "include")
    with os.scandir(tree) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    yield _chained(tree, [name for name in folders if name not in ("include", *_LAST)], top=True)
    yield _chained(tree, [name for name in folders if name in _LAST], top=False)


def _chained(tree: Path, folders: Iterable[str], *, top: bool) -> Iterator[str]:
    if top:
        yield from (entry.name for entry in sorted(tree.iterdir()) if entry.name.endswith(_SUFFIXES))
    for folder in folders:
        yield from _files(tree, tree / folder)


def _files(tree: Path, folder: Path) -> Iterator[str]:
    """C files below ``folder``; links to directories are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                yield os.path.relpath(os.path.join(place, name), tree)  # noqa: PTH118 - a path per file of 80,000
