# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that relies on what the record is: initialisers of the pointer, copies of records, the order of the members.

The object becomes the last member, and every copy of a record has an object of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.model import DependencyKind, Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import PointerUse
from linesmith.patches.scan.header_text import MOST_LEVELS, given_by_place
from linesmith.patches.scan.text_scan import RecordText
from linesmith.patches.source.atoms import line_number
from linesmith.patches.source.macros import LineCounter, closings, within, without_comments, without_directives
from linesmith.patches.treewide.mentions import Mention
from linesmith.patches.treewide.names import titles_pattern
from linesmith.patches.treewide.syntax import bare, function_name, inside, line_of, parsed, text


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


# Records that are copied by their declaration: a variable with another's value, a parameter, what is returned.


def copying(pointer: PointerMember, uses: Sequence[PointerUse], sources: Mapping[str, bytes]) -> Obstacles:
    """The copies in ``sources``, the files that name the record: certain where the pointer of the copy is used."""
    likely = re.compile(rb"\b(?:" + titles_pattern(pointer.holders) + rb")\s+\w+\s*[=(,)]")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    for file, source in sources.items():
        if not likely.search(source):
            continue
        for node, variable in _copies(pointer, parsed(source)):
            function = function_name(node)
            holders = {use.holder for use in uses if (use.file, use.function) == (file, function)}
            is_used = bool(variable) and variable in holders
            copier = f"{function}()" if function else "an initialiser"
            what = f", and the object of {variable} is used" if is_used else ", now with the object"
            reason = f"{copier} copies a whole {pointer.outer.record.title}{what}"
            lift = "make sure that the object is set up anew behind it"
            refusal = Refusal(RefusalCode.COPIED_OBJECT, f"{file}:{line_of(node)}", reason, lift)
            (certain if is_used else possible).append(refusal)
    return Obstacles(tuple(certain), tuple(possible))


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
    name = value.child_by_field_name("function") if value.type == "call_expression" else value
    is_macro = name is not None and name.type == "identifier" and text(name).isupper()
    return value.type not in ("initializer_list", "compound_literal_expression") and not is_macro


# The order of the members.

_LIST = re.compile(rb"^[ \t]*+#[ \t]*+define[ \t]++(\w++)(?:\([^)\n]*+\))?[ \t]*+(\{)", re.MULTILINE)
_ARRAYS = rb"\s*((?:\[[^]\n]*\]\s*)*)(?:__\w+(?:\([^()\n]*(?:\([^()\n]*\))?[^()\n]*\)+)?\s*)*"
_RELIES = {
    DependencyKind.ASSERTION: "an assertion speaks of its layout",
    DependencyKind.OFFSET_RANGE: "a range of bytes is computed from its members",
    DependencyKind.PARTIAL_COPY: "a part of it is copied from or to a member on",
    DependencyKind.ASM_OFFSET: "assembly gets an offset of it",
    DependencyKind.USER_ABI: "user space knows it",
}


def reliance(pointer: PointerMember, sources: Mapping[str, bytes]) -> Obstacles:
    """What ``sources``, the files that name the record, rely on; certain are initialisers by position."""
    record_text = RecordText(pointer.outer.record.name)
    # A variable, its arrays and its list or macro; or a compound literal, its array and its list.
    names = rb"\b(?:%s)\b" % titles_pattern(pointer.holders)
    variable = names + rb"\s+(?:\w+\s*,\s*)*\w+" + _ARRAYS + rb"=\s*(?:(\{)|(\w+)\s*[(;,])"
    values = re.compile(variable + rb"|\(\s*(?:const\s+)?" + names + rb"\s*(\[[^]\n]*\])?\s*\)\s*(\{)")
    certain: list[Refusal] = []
    possible: list[Refusal] = []
    macros: dict[bytes, str] = {}
    lists: set[bytes] = set()
    for file, source in sources.items():
        code = without_comments(source)
        certain.extend(_by_position(pointer, file, code, values))
        # Variables that a macro may initialise, by its name.
        by_macro = (match for match in values.finditer(code) if match[3])
        macros.update((match[3], f"{file}:{line_number(code, match.start())}") for match in by_macro)
        lists.update(_lists(code))
        possible.extend(_dependencies(pointer, file, record_text, source))
    certain.extend(_positional(pointer, place) for name, place in macros.items() if name in lists)
    return Obstacles(tuple(certain), tuple(possible))


def _by_position(pointer: PointerMember, file: str, code: bytes, values: re.Pattern[bytes]) -> Iterator[Refusal]:
    plain = without_directives(code)
    if file == pointer.outer.file:
        behind = re.compile(rb"\s*\w+" + _ARRAYS + rb"=\s*(\{)")
        own = behind.match(plain, pointer.outer.record.closing + 1)
        for span in closings(plain, [own.start(2)] if own else ()).items():
            if own and given_by_place(plain, span, bool(own[1])):
                yield _positional(pointer, f"{file}:{line_number(code, own.start(2))}")
    matches = {max(match.start(2), match.start(5)): match for match in values.finditer(plain)}
    lines = LineCounter(code)
    for span in within(closings(plain, matches.keys() - {-1}).items(), MOST_LEVELS):
        match = matches[span[0]]
        if given_by_place(plain, span, bool(match[1] or match[4])):
            yield _positional(pointer, f"{file}:{lines.number(match.start())}")


def _lists(code: bytes) -> Iterator[bytes]:
    """Macros that are lists of values by position."""
    joined = code.replace(b"\\\n", b"  ")
    named = {match.start(2): match[1] for match in _LIST.finditer(joined)}
    for span in within(closings(joined, named).items(), MOST_LEVELS):
        if given_by_place(joined, span, is_array=False):
            yield named[span[0]]


def _positional(pointer: PointerMember, place: str) -> Refusal:
    reason = f"an initialiser of a {pointer.outer.record.title} gives values by position, and the object comes last"
    return Refusal(RefusalCode.POSITIONAL, place, reason, "name the members in the initialiser")


def _dependencies(pointer: PointerMember, file: str, record_text: RecordText, source: bytes) -> Iterator[Refusal]:
    for one in record_text.places(file, source).places:
        if one.kind in _RELIES:
            code = RefusalCode.USER_ABI if one.kind is DependencyKind.USER_ABI else RefusalCode.OFFSET
            reason = f"{_RELIES[one.kind]} (`{one.text[:60]}`)"
            lift = f"see whether it holds when {pointer.outer.record.title} is larger and `{pointer.name}` its last"
            yield Refusal(code, f"{file}:{one.line}", reason, lift)
