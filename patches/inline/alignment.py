# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether every record of a program begins where an aligned member asks for.

A compiler relies on an alignment that is promised, so that one allocation that does not keep it is one too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import tree_sitter

from linesmith.patches.inline.lifetimes import ALIGNING, Making
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import bare, callee, compact, enclosing, inside, parsed, text
from linesmith.patches.masking import without_comments

# Ask for the size of a record that is there already.
_OF_WHAT_IS_THERE = frozenset(("memset", "memcpy", "memmove", "memcmp", "bzero", "explicit_bzero"))
_NO_MACRO = frozenset(
    ("sizeof", "_Alignof", "alignof", "__alignof__", "offsetof", "typeof", "__typeof__", "container_of")
)


def all_aligned(pointer: PointerMember, made: Sequence[Making], sources: Mapping[str, bytes]) -> bool:
    """Whether makings were seen, all of them align, and no other code of ``sources`` may make a record."""
    if not made or any(one.maker not in ALIGNING for one in made):
        return False
    codes = {file: without_comments(source) for file, source in sources.items()}
    variables = _variables(pointer, codes.values())
    for file, source in sources.items():
        if _is_given_to_macro(pointer, codes[file]) or _has_whole_member(pointer, source):
            return False
        if any(not _is_known(one, file, made) for one in _sizes(pointer, variables, source)):
            return False
    return True


def _names(pointer: PointerMember) -> bytes:
    return b"|".join(rb"\s+".join(map(re.escape, one.encode().split())) for one in pointer.holders)


def _variables(pointer: PointerMember, codes: Iterable[bytes]) -> frozenset[str]:
    """What is declared with the record's name in front: variables, parameters and members."""
    declared = re.compile(rb"\b(?:" + _names(pointer) + rb")\b([\s*]+\w+(?:\s*(?:\[[^]\n]*\]\s*)*,\s*\**\w+)*)")
    found = (match for code in codes for match in declared.findall(code))
    return frozenset(name.decode() for one in found for name in re.findall(rb"\w+", one))


def _is_given_to_macro(pointer: PointerMember, code: bytes) -> bool:
    """Whether a macro gets the record's name, as in ``NEW(struct area)``."""
    called = re.compile(rb"\b(\w+)\s*\((?:[^(){};]*,)?\s*(?:" + _names(pointer) + rb")\s*[,)]")
    return any(match[1].decode() not in _NO_MACRO for match in called.finditer(code))


def _has_whole_member(pointer: PointerMember, source: bytes) -> bool:
    """Whether another record has one of the record as a member, wherever that comes from."""
    for one in inside(parsed(source), "field_declaration"):
        declarator = one.child_by_field_name("declarator")
        whole = declarator is not None and declarator.type in ("field_identifier", "array_declarator")
        if whole and text(one.child_by_field_name("type")) in pointer.holders:
            return True
    return False


def _sizes(pointer: PointerMember, variables: frozenset[str], source: bytes) -> Iterator[tree_sitter.Node]:
    """Every ``sizeof`` of the record, by its name or by a variable."""
    titles = {"".join(one.split()) for one in pointer.holders}
    for one in inside(parsed(source), "sizeof_expression"):
        named = compact(one).removeprefix("sizeof").removeprefix("(").removesuffix(")")
        words = re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", text(one)))
        if named in titles or words[-1] in variables:
            yield one


def _is_known(size: tree_sitter.Node, file: str, made: Sequence[Making]) -> bool:
    """Whether the size is that of one of the makings, or of a record that is there."""
    call = enclosing(size, "call_expression")
    if call is not None and callee(call) in _OF_WHAT_IS_THERE:
        return True
    making = enclosing(size, "assignment_expression", "init_declarator")
    if making is None or call is None or bare(_value(making)) != call:
        return False
    first, last = making.start_point[0] + 1, making.end_point[0] + 1
    return any(one.file == file and one.maker == callee(call) and first <= one.line <= last for one in made)


def _value(making: tree_sitter.Node) -> tree_sitter.Node:
    return making.child_by_field_name("right") or making.child_by_field_name("value") or making
