# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that relies on what the record is: initialisers of the pointer, and the order of the members."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import DependencyKind, Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.scan.text_scan import RecordText
from linesmith.patches.treewide.mentions import Mention
from linesmith.patches.treewide.syntax import parsed, text


@dataclass(frozen=True, slots=True)
class Obstacles:
    """``certain`` stand in the way of the change, ``possible`` are places for a person to look at."""

    certain: tuple[Refusal, ...]
    possible: tuple[Refusal, ...]


# Initialisers that give the pointer a value: ``struct area first = { .lock = &first_lock }``.

_DESIGNATOR = re.compile(rb"(?:\A|[{,;\n(])\s*\.\s*\Z")
_BACK = 200
_QUALIFIERS = re.compile(r"\b(?:const|volatile|static)\s+")


def initialised(pointer: PointerMember, mentions: Sequence[Mention], sources: Mapping[str, bytes]) -> Obstacles:
    """The designated initialisers among ``mentions``; of unknown records only where the file names the pointer's."""
    names = (re.escape(name.removeprefix("struct ").encode()) for name in pointer.holders)
    word = re.compile(rb"\b(?:" + b"|".join(names) + rb")\b")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for one in mentions:
        source = sources[one.file]
        end = one.offset + len(pointer.name)
        behind = source[end : end + _BACK].lstrip()
        sets = behind[:1] == b"=" and behind[1:2] != b"="
        if not (sets and _DESIGNATOR.search(one.ahead(source)) and word.search(source)):
            continue
        record = _initialised_record(parsed(source), one.offset)
        reason = f"an initialiser sets the pointer (`{one.text[:60]}`)"
        if record in pointer.holders:
            lift = "initialise the object in its place, by hand"
            certain.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
        elif not record:
            lift = f"see whether it is one of {pointer.outer.record.title}"
            possible.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
    return Obstacles(tuple(certain), tuple(possible))


def _initialised_record(root: tree_sitter.Node, offset: int) -> str:
    """What is initialised, as its type is named; empty where that is nested or not plain C."""
    pair = root.descendant_for_byte_range(offset, offset + 1)
    while pair is not None and pair.type != "initializer_pair":
        pair = pair.parent
    listed = pair.parent if pair is not None else None
    holder = listed.parent if listed is not None and listed.type == "initializer_list" else None
    if holder is not None and holder.type == "initializer_list":
        holder = holder.parent
        declarator = holder.child_by_field_name("declarator") if holder is not None else None
        if declarator is None or declarator.type != "array_declarator":
            return ""
    if holder is None or holder.type not in ("init_declarator", "compound_literal_expression"):
        return ""
    declaration = holder.parent if holder.type == "init_declarator" else holder
    return _QUALIFIERS.sub("", text(declaration.child_by_field_name("type") if declaration is not None else None))


# The order of the members.

_RELIES = {
    DependencyKind.ASSERTION: "an assertion speaks of its layout",
    DependencyKind.OFFSET_RANGE: "a range of bytes is computed from its members",
    DependencyKind.PARTIAL_COPY: "a part of it is copied from or to a member on",
    DependencyKind.ASM_OFFSET: "assembly gets an offset of it",
    DependencyKind.USER_ABI: "user space knows it",
}


def reliance(pointer: PointerMember, sources: Mapping[str, bytes]) -> Obstacles:
    """What ``sources``, the files that name the record, rely on; certain are initialisers by position."""
    title = pointer.outer.record.title
    looking = RecordText(pointer.outer.record.name)
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for file, source in sources.items():
        for one in looking.places(file, source).places:
            place = f"{file}:{one.line}"
            if one.kind is DependencyKind.POSITIONAL:
                reason = f"an initialiser of a {title} gives values by position, and the object comes last"
                lift = "name the members in the initialiser"
                certain.append(Refusal(RefusalCode.POSITIONAL, place, reason, lift))
            elif one.kind in _RELIES:
                code = RefusalCode.USER_ABI if one.kind is DependencyKind.USER_ABI else RefusalCode.OFFSET
                lift = f"see whether it holds when {title} is larger and `{pointer.name}` its last"
                possible.append(Refusal(code, place, f"{_RELIES[one.kind]} (`{one.text[:60]}`)", lift))
    return Obstacles(tuple(certain), tuple(possible))
