# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that relies on the order of the record's members, which changes as the object becomes the last of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from linesmith.analyzer.model import DependencyKind, Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.scan.header_text import MOST_LEVELS, given_by_place
from linesmith.patches.scan.text_scan import RecordText
from linesmith.patches.source.atoms import line_number
from linesmith.patches.source.macros import LineCounter, closings, within, without_comments, without_directives

_LIST = re.compile(rb"^[ \t]*+#[ \t]*+define[ \t]++(\w++)(?:\([^)\n]*+\))?[ \t]*+(\{)", re.MULTILINE)
_ARRAYS = rb"\s*((?:\[[^]\n]*\]\s*)*)(?:__\w+(?:\([^()\n]*(?:\([^()\n]*\))?[^()\n]*\)+)?\s*)*"
_TOLD = {
    DependencyKind.ASSERTION: "an assertion speaks of its layout",
    DependencyKind.OFFSET_RANGE: "a range of bytes is computed from its members",
    DependencyKind.PARTIAL_COPY: "a part of it is copied from or to a member on",
    DependencyKind.ASM_OFFSET: "assembly gets an offset of it",
    DependencyKind.USER_ABI: "user space knows it",
}


@dataclass(frozen=True, slots=True)
class Reliance:
    """``certain`` are initialisers that give values by position, ``possible`` are places for a person to look at."""

    certain: tuple[Refusal, ...]
    possible: tuple[Refusal, ...]


def reliance(pointer: PointerMember, sources: Mapping[str, bytes]) -> Reliance:
    """What ``sources``, the files that name the record, rely on."""
    looking = RecordText(pointer.outer.record.name)
    initialised = _initialised(pointer)
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    macros: dict[bytes, str] = {}
    lists: set[bytes] = set()
    for file, source in sources.items():
        code = without_comments(source)
        certain.extend(_by_position(pointer, file, code, initialised))
        macros.update(_by_macro(file, code, initialised))
        lists.update(_lists(code))
        possible.extend(_told(pointer, file, looking, source))
    certain.extend(_refusal(pointer, place) for name, place in macros.items() if name in lists)
    return Reliance(tuple(certain), tuple(possible))


def _initialised(pointer: PointerMember) -> re.Pattern[bytes]:
    """A variable, its arrays and its list or macro; or a compound literal, its array and its list."""
    names = rb"\b(?:%s)\b" % b"|".join(rb"\s+".join(map(re.escape, one.encode().split())) for one in pointer.holders)
    variable = names + rb"\s+(?:\w+\s*,\s*)*\w+" + _ARRAYS + rb"=\s*(?:(\{)|(\w+)\s*[(;,])"
    return re.compile(variable + rb"|\(\s*(?:const\s+)?" + names + rb"\s*(\[[^]\n]*\])?\s*\)\s*(\{)")


def _by_position(pointer: PointerMember, file: str, code: bytes, initialised: re.Pattern[bytes]) -> Iterator[Refusal]:
    plain = without_directives(code)
    if file == pointer.outer.file:
        behind = re.compile(rb"\s*\w+" + _ARRAYS + rb"=\s*(\{)")
        found = behind.match(plain, pointer.outer.record.closing + 1)
        for span in closings(plain, [found.start(2)] if found else ()).items():
            if found and given_by_place(plain, span, bool(found[1])):
                yield _refusal(pointer, f"{file}:{line_number(code, found.start(2))}")
    matches = {max(match.start(2), match.start(5)): match for match in initialised.finditer(plain)}
    lines = LineCounter(code)
    for span in within(closings(plain, matches.keys() - {-1}).items(), MOST_LEVELS):
        match = matches[span[0]]
        if given_by_place(plain, span, bool(match[1] or match[4])):
            yield _refusal(pointer, f"{file}:{lines.number(match.start())}")


def _by_macro(file: str, code: bytes, initialised: re.Pattern[bytes]) -> Iterator[tuple[bytes, str]]:
    """Variables that a macro may initialise, by its name."""
    for match in initialised.finditer(code):
        if match[3]:
            yield match[3], f"{file}:{line_number(code, match.start())}"


def _lists(code: bytes) -> Iterator[bytes]:
    """Macros that are lists of values by position."""
    joined = code.replace(b"\\\n", b"  ")
    named = {match.start(2): match[1] for match in _LIST.finditer(joined)}
    for span in within(closings(joined, named).items(), MOST_LEVELS):
        if given_by_place(joined, span, is_array=False):
            yield named[span[0]]


def _refusal(pointer: PointerMember, place: str) -> Refusal:
    reason = f"an initialiser of a {pointer.outer.record.title} gives values by position, and the object comes last"
    return Refusal(RefusalCode.POSITIONAL, place, reason, "name the members in the initialiser")


def _told(pointer: PointerMember, file: str, looking: RecordText, source: bytes) -> Iterator[Refusal]:
    for one in looking.places(file, source).places:
        if one.kind in _TOLD:
            code = RefusalCode.USER_ABI if one.kind is DependencyKind.USER_ABI else RefusalCode.OFFSET
            reason = f"{_TOLD[one.kind]} (`{one.text[:60]}`)"
            lift = f"see whether it holds when {pointer.outer.record.title} is larger and `{pointer.name}` its last"
            yield Refusal(code, f"{file}:{one.line}", reason, lift)
