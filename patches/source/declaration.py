# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds where a source tree declares a record: at the place that DWARF names, or wherever it has moved to.

Also which records a change declares otherwise, and what C texts include, in both arms of each ``#if``, without running
a preprocessor.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.base.text import shortened
from linesmith.analyzer.model import FileChange, Layout, Refusal, RefusalCode
from linesmith.patches.source import records
from linesmith.patches.source.atoms import scope
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.tree import source_bytes

# A declaration with fewer of the layout's members is another record of the same name.
ENOUGH_MEMBERS = 0.5
_SUFFIXES = (".h", ".c", ".inc", ".hh", ".def")
_LAST = ("tools", "Documentation", "samples", "scripts")
# Folders that hold no sources of the tree.
SKIPPED = frozenset((".git", ".svn", ".hg", "node_modules", "__pycache__"))
_SHOWN = 6
# No file of Linux 6.1 declares a record more than a few times, one for each configuration.
_MOST_RECORDS = 64


_Node = TypeVar("_Node")


@dataclass(frozen=True, slots=True)
class Declared:
    """A record's declaration: ``file`` is relative to the tree, ``match`` the share of the layout's members in it."""

    file: str
    source: bytes
    record: records.RecordSpan
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
    remedy = "check that --tree is the source the ELF file was built from"
    if not layout.name:
        remedy = f"the record of {name} has no name in the source; give it one and build again"
    elif recorded is not None and not (tree / recorded).resolve().is_relative_to(tree.resolve()):
        remedy = f"{recorded} is a link that leads out of the tree, which is not read; give the tree that it leads into"
    elif recorded is not None:
        remedy = (
            f"that file is in the tree, so a macro generates the record, which is out of range patched; or {remedy}"
        )
    said = f" (the debug information says {layout.place})" if layout.file else ""
    said += "".join(f"; {one}" for one in unread[:_SHOWN])
    raise DeclarationNotFound(f"{tree} declares no record {name} with the members of the ELF file{said}; {remedy}")


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
    """The records of that name in a file; a clause on each that cannot be looked into goes to ``unread``."""
    source = source_bytes(tree, file)
    if source is None:
        return
    wanted = {member.name for member in layout.members if member.name}
    found = records.records_named(source, name)
    if len(found) > _MOST_RECORDS:
        unread.append(f"{file} declares {name} {len(found)} times, more than the {_MOST_RECORDS} that are looked at")
    for record in found[:_MOST_RECORDS]:
        if why := records.unreadable(source, record):
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
    places = shortened([one.place for one in found], _SHOWN)
    reason = (
        f"{name} is declared {len(found)} times with the same members ({places}), and the debug information "
        "does not say which one is meant"
    )
    lift = "use an ELF file built from this tree"
    raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, found[0].place, reason, lift))


def staged_files(tree: Path) -> Iterator[str]:
    """All C files of the tree, in the order in which a declaration is looked for."""
    for files in _stages(tree):
        yield from files


def _stages(tree: Path) -> Iterator[Iterator[str]]:
    """Files in the order of likelihood: headers below ``include``, then the rest, then copies and examples."""
    yield files_below(tree, tree / "include")
    with os.scandir(tree) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    top = (entry.name for entry in entries if entry.name.endswith(_SUFFIXES))
    rest = (files_below(tree, tree / name) for name in folders if name not in ("include", *_LAST))
    yield chain(top, chain.from_iterable(rest))
    yield chain.from_iterable(files_below(tree, tree / name) for name in folders if name in _LAST)


def files_below(tree: Path, folder: Path, suffixes: tuple[str, ...] = _SUFFIXES) -> Iterator[str]:
    """C files below ``folder``, relative to ``tree``, by name; links to directories are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            if name.endswith(suffixes):
                yield os.path.relpath(os.path.join(place, name), tree)  # noqa: PTH118 - a path per file of 80,000


# Possessive, so that a long row of underscores is read in one way only; an attribute has a name or another behind it.
# What follows a name is read to the brace, a semicolon or the next record, and so once.
_BEFORE = rb"(?:__\w++\s*+(?:" + records.PARENTHESIS + rb"\s*+)?(?=\w))*+"
_BEHIND = rb"\s*+(?:__\w(?:[^;{}su]|(?!\b(?:struct|union)\b)[su])*+)?+"
_NAME = re.compile(
    rb"\b(?:struct|union)\s++%(before)b(\w++)%(behind)b(\{)?|\}\s*+%(before)b(\w++)%(behind)b(;)?"
    % {b"before": _BEFORE, b"behind": _BEHIND}
)


def declared(text: bytes | None) -> frozenset[bytes]:
    """Names that a text may give to records with a body; with comments in it, for they only invite another look."""
    found = _NAME.findall(text or b"")
    return frozenset(tag or typedef for tag, opened, typedef, ended in found if opened or ended)


def redeclared(change: FileChange) -> tuple[records.RecordSpan, ...]:
    """Records of the changed file, as it is then, that the file declared otherwise before.

    So may those be, as they were then, that are not found any more, though a word in front of a body names them.
    """
    if change.before is None or change.after is None:
        return ()
    old, new = records.all_records(change.before), records.all_records(change.after)
    found = []
    for name in (name for name in new if name in old):
        known = {_digest(change.before, one) for one in old[name]}
        found += [one for one in new[name] if _digest(change.after, one) not in known]
    left = frozenset(name for name in old if old[name] and not new.get(name))
    words = frozenset(word for some in records.heads(change.after) for word in some) if left else frozenset()
    return tuple(sorted((*found, *(old[name][0] for name in left & words)), key=lambda one: (one.line, one.name)))


def _digest(source: bytes, record: records.RecordSpan) -> bytes:
    """What stands for the declaration with the attributes behind its body; the text itself may hold many others."""
    end = records.declaration_end(without_comments(source), record.closing)
    whole = memoryview(source)[record.start : end]
    return hashlib.blake2b(whole, digest_size=16).digest()


# With the rest of the line: what else is in it does not begin it.
_INCLUDE = re.compile(rb'#[ \t]*+include(?:_next)?[ \t]*+(["<])([^">\n]++)([">])?[^\n]*+')
_COMPUTED = re.compile(rb"#[ \t]*+include(?:_next)?[ \t]++\w")
# No file has a longer path (PATH_MAX in linux/limits.h), so no compiler finds it either.
_MOST_OF_A_NAME = 4095


def included(text: bytes) -> Iterator[tuple[bool, str]]:
    """Each name that is included, and whether it stands in quotes; those that macros make are left out."""
    for match in _INCLUDE.finditer(text):
        # To look for the beginning of each line first takes many times as long.
        line = text.rfind(b"\n", 0, match.start()) + 1
        if match[3] and len(match[2]) <= _MOST_OF_A_NAME and not text[line : match.start()].strip():
            yield match[1] == b'"', os.fsdecode(match[2])


def includes_by_macro(text: bytes) -> bool:
    """Whether a macro makes the name of some file that is included."""
    return _COMPUTED.search(text) is not None


def reached(starts: Iterable[_Node], edges: Callable[[_Node], Iterable[_Node]]) -> set[_Node]:
    """The ``starts``, and all to which the ``edges`` lead from them."""
    found = set(starts)
    waiting = list(found)
    while waiting:
        fresh = set(edges(waiting.pop())) - found
        found |= fresh
        waiting += fresh
    return found


def include_path(
    folders: Sequence[str], content: Callable[[str], bytes | None], is_file: Callable[[str], bool]
) -> Callable[[str], tuple[str, ...]]:
    """A function that gives the files that a file includes, as far as they are in its own folder or in ``folders``.

    ``content`` and ``is_file`` are asked of paths; each file is looked into once.
    """

    @cache
    def place_of(beside: str, name: str) -> str:
        places = (os.path.normpath(f"{folder}/{name}") for folder in (beside, *folders) if folder)
        return next((place for place in places if is_file(place)), "")

    @cache
    def included_by(path: str) -> tuple[str, ...]:
        beside = os.path.dirname(path)  # noqa: PTH120 - a path for each of 100,000 lines
        names = included(content(path) or b"")
        found = (place_of(beside if in_quotes else "", name) for in_quotes, name in names)
        return tuple(dict.fromkeys(one for one in found if one))

    return included_by
