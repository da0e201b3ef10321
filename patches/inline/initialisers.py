# SPDX-License-Identifier: GPL-2.0-or-later
"""Initialisers that give the pointer a value: ``struct area first = { .lock = &first_lock }``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import parsed, text
from linesmith.patches.semantic.mentions import Mention

_DESIGNATOR = re.compile(rb"(?:\A|[{,;\n(])\s*\.\s*\Z")
_BACK = 200


@dataclass(frozen=True, slots=True)
class Initialised:
    """Places that initialise the pointer for certain, and those of which the record is not known."""

    certain: tuple[Refusal, ...]
    possible: tuple[Refusal, ...]


def initialised(pointer: PointerMember, places: Sequence[Mention], sources: Mapping[str, bytes]) -> Initialised:
    """The designated initialisers among ``places``; of unknown records only where the file names the pointer's."""
    word = re.compile(rb"\b(?:" + b"|".join(_bare(name) for name in pointer.holders) + rb")\b")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for one in places:
        source = sources[one.file]
        if not _designates(source, one, pointer.name) or not word.search(source):
            continue
        record = _record(parsed(source), one.offset)
        reason = f"an initialiser sets the pointer (`{one.text[:60]}`)"
        if record in pointer.holders:
            lift = "initialise the object in its place, by hand"
            certain.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
        elif not record:
            lift = f"see whether it is one of {pointer.outer.record.title}"
            possible.append(Refusal(RefusalCode.INITIALISER, one.place, reason, lift))
    return Initialised(tuple(certain), tuple(possible))


def _bare(name: str) -> bytes:
    return re.escape(name.removeprefix("struct ").encode())


def _designates(source: bytes, one: Mention, name: str) -> bool:
    behind = source[one.offset + len(name) : one.offset + len(name) + _BACK].lstrip()
    ahead = source[max(0, one.offset - _BACK) : one.offset]
    return behind[:1] == b"=" and behind[1:2] != b"=" and bool(_DESIGNATOR.search(ahead))


def _record(root: tree_sitter.Node, offset: int) -> str:
    """What is initialised, as its type is named; empty where that is nested or not plain C."""
    designators = list(_upwards(root.descendant_for_byte_range(offset, offset + 1), "initializer_pair"))
    listed = designators[0].parent if designators else None
    holder = listed.parent if listed is not None and listed.type == "initializer_list" else None
    if holder is not None and holder.type == "initializer_list":
        holder = holder.parent
        if holder is None or _is_array(holder) is False:
            return ""
    if holder is None or holder.type not in ("init_declarator", "compound_literal_expression"):
        return ""
    declaration = holder.parent if holder.type == "init_declarator" else holder
    named = declaration.child_by_field_name("type") if declaration is not None else None
    return re.sub(r"\b(?:const|volatile|static)\s+", "", text(named))


def _is_array(holder: tree_sitter.Node) -> bool:
    declarator = holder.child_by_field_name("declarator")
    return declarator is not None and declarator.type == "array_declarator"


def _upwards(node: tree_sitter.Node | None, kind: str) -> Iterator[tree_sitter.Node]:
    while node is not None:
        if node.type == kind:
            yield node
        node = node.parent
