# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups that C code asserts: ``CACHELINE_ASSERT_GROUP_MEMBER()`` and ``…_SIZE()`` of include/linux/cache.h."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.intent.conditional import conditions
from linesmith.analyzer.model import MemberGroup, TypeIntent

_MACRO = b"CACHELINE_ASSERT_GROUP_"
_MOST_BYTES = 1 << 22
_SUFFIXES = (".c", ".h")
# A literal without an end goes on to that of its line, so that no quote in it begins another look.
_IGNORED = re.compile(
    rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"
    rb"|^[ \t]*+#[ \t]*+define\b(?:[^\n\\]|\\.)*+",
    re.DOTALL | re.MULTILINE,
)
_CALL = re.compile(
    rb"\bCACHELINE_ASSERT_GROUP_(MEMBER|SIZE)\s*+\(\s*+(?:struct|union)\s++(\w++)\s*+,\s*+(\w++)\s*+,"
    rb"\s*+([^;{}]{0,400}?)\)\s*+;"
)
_PATH = re.compile(rb"[A-Za-z_][\w.]*")
_SUM = re.compile(rb"\s*\d+(?:\s*\+\s*\d+)*\s*")


@dataclass(frozen=True, slots=True)
class Assertion:
    """One line of code: ``member`` is in the ``group`` of ``record``, or the group has at most ``bytes``.

    ``configuration`` are the symbols that it is compiled with or without (``CONFIG_XPS``, ``!CONFIG_XPS``).
    """

    record: str
    group: str
    place: str
    member: str = ""
    bytes: int | None = None
    configuration: tuple[str, ...] = ()


def asserted_in(tree: Path, configuration: Collection[str] | None = None) -> Iterator[Assertion]:
    """What the C files below ``tree`` assert, in the order of their paths; links are not followed.

    ``configuration`` are the symbols that are set, ``None`` where that is not known.
    """
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(one for one in folders if one != ".git")
        for name in sorted(one for one in files if one.endswith(_SUFFIXES)):
            path = Path(folder) / name
            yield from assertions(_text(path), str(path.relative_to(tree)), configuration)


def assertions(text: bytes, file: str, configuration: Collection[str] | None = None) -> Iterator[Assertion]:
    """What one C text asserts; comments, strings, definitions of macros and what is never compiled are left out."""
    if _MACRO not in text:
        return
    bare = _IGNORED.sub(lambda match: b"\n" * match.group().count(b"\n") or b" ", text)
    breaks = [match.start() for match in re.finditer(b"\n", bare)]
    compiled = conditions(bare, configuration)
    for match in _CALL.finditer(bare):
        kind, record, group, last = (part.decode("ascii", "replace") for part in match.groups())
        place = f"{file}:{bisect_left(breaks, match.start()) + 1}"
        at = compiled.at(match.start())
        if at is None:
            continue
        if kind == "MEMBER" and _PATH.fullmatch(match[4].strip()):
            yield Assertion(record, group, place, member=last.strip(), configuration=at)
        elif kind == "SIZE" and _SUM.fullmatch(match[4]):
            yield Assertion(record, group, place, bytes=sum(map(int, last.split("+"))), configuration=at)


def asserted_intents(found: Iterable[Assertion]) -> tuple[TypeIntent, ...]:
    """One intent for each record and configuration, its groups in the order of the code; empty groups are left out."""
    entries: dict[tuple[str, tuple[str, ...]], list[Assertion]] = {}
    for one in found:
        entries.setdefault((one.record, one.configuration), []).append(one)
    made = (
        TypeIntent(name, _reason(said), configuration=configuration, groups=_groups(said))
        for (name, configuration), said in sorted(entries.items())
    )
    return tuple(one for one in made if one.groups)


def _groups(said: Iterable[Assertion]) -> tuple[MemberGroup, ...]:
    members: dict[str, dict[str, None]] = {}
    limits: dict[str, int] = {}
    for one in said:
        if one.member:
            members.setdefault(one.group, {})[one.member] = None
        elif one.bytes:
            limits[one.group] = one.bytes
    return tuple(MemberGroup(name, tuple(inside), bytes=limits.get(name)) for name, inside in members.items())


def _reason(said: Iterable[Assertion]) -> str:
    return f"asserted by CACHELINE_ASSERT_GROUP_MEMBER() from {next(iter(said)).place} on"


def _text(path: Path) -> bytes:
    """What a regular file begins with; nothing of one that cannot be read."""
    try:
        if path.is_symlink() or not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""
