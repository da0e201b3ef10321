# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that are copied by their declaration: a variable with another's value, a parameter, what is returned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.syntax import bare, function_name, inside, parsed, text
from linesmith.patches.inline.use import Use

_LIFT = "make sure that the object is set up anew behind it"
_QUALIFIERS = re.compile(r"\b(?:const|volatile|static)\s+")


@dataclass(frozen=True, slots=True)
class Copying:
    """``certain`` are copies of which the pointer is used, now another object; ``possible`` are the others."""

    certain: tuple[Refusal, ...]
    possible: tuple[Refusal, ...]

    @property
    def places(self) -> frozenset[str]:
        """Where they are, each as ``file:line``."""
        return frozenset(one.place for one in (*self.certain, *self.possible))


def copying(pointer: PointerMember, uses: Sequence[Use], sources: Mapping[str, bytes]) -> Copying:
    """The copies in ``sources``, the files that name the record."""
    names = b"|".join(rb"\s+".join(map(re.escape, one.encode().split())) for one in pointer.holders)
    likely = re.compile(rb"\b(?:" + names + rb")\s+\w+\s*[=(,)]")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for file, source in sources.items():
        if not likely.search(source):
            continue
        for node, variable in _copies(pointer, parsed(source)):
            used = (use for use in uses if (use.file, use.function) == (file, function_name(node)))
            if variable and any(use.holder == variable for use in used):
                certain.append(_refusal(pointer, file, node, f", and the object of {variable} is used"))
            else:
                possible.append(_refusal(pointer, file, node, ", now with the object"))
    return Copying(tuple(certain), tuple(possible))


def _copies(pointer: PointerMember, root: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, str]]:
    """The places, and the variable that is a copy there; none where it has no name."""
    for one in inside(root, "init_declarator"):
        value, declarator = one.child_by_field_name("value"), one.child_by_field_name("declarator")
        plain = declarator is not None and declarator.type == "identifier"
        if plain and value is not None and _is_record(pointer, one.parent) and _is_value(bare(value)):
            yield one, text(declarator)
    for one in inside(root, "function_definition"):
        declarator = one.child_by_field_name("declarator")
        if declarator is None or declarator.type != "function_declarator":
            continue
        if _is_record(pointer, one):
            yield declarator, ""
        for parameter in inside(declarator, "parameter_declaration"):
            name = parameter.child_by_field_name("declarator")
            if name is not None and name.type == "identifier" and _is_record(pointer, parameter):
                yield parameter, text(name)


def _is_record(pointer: PointerMember, declaration: tree_sitter.Node | None) -> bool:
    named = declaration.child_by_field_name("type") if declaration is not None else None
    return _QUALIFIERS.sub("", text(named)) in pointer.holders


def _is_value(value: tree_sitter.Node) -> bool:
    """Whether it is another record, and no list of values, be it a macro's."""
    return value.type not in ("initializer_list", "compound_literal_expression") and not _macro(value)


def _macro(value: tree_sitter.Node) -> bool:
    name = value.child_by_field_name("function") if value.type == "call_expression" else value
    return name is not None and name.type == "identifier" and text(name).isupper()


def _refusal(pointer: PointerMember, file: str, node: tree_sitter.Node, what: str) -> Refusal:
    function = function_name(node)
    copier = f"{function}()" if function else "an initialiser"
    reason = f"{copier} copies a whole {pointer.outer.record.title}{what}"
    return Refusal(RefusalCode.COPIED_OBJECT, f"{file}:{node.start_point[0] + 1}", reason, _LIFT)
