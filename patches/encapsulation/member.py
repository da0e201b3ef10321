# SPDX-License-Identifier: GPL-2.0-or-later
"""The declaration of a member, by the names of its record and itself, and how its type is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path

import tree_sitter

from linesmith.analyzer.base.errors import DeclarationNotFound, EditRefused
from linesmith.analyzer.layouts.single_moves import is_user_abi
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.source.macros import closing, closings, without_comments, without_directives
from linesmith.patches.source.records import RecordSpan, records_named
from linesmith.patches.treewide.mentions import Mention, read_source
from linesmith.patches.treewide.syntax import member_declarations

# Programs of their own, which share headers with the rest only by chance.
_APART = ("tools/", "scripts/", "Documentation/")
_TRIAL = re.compile(r"(?:^|/)(?:tests?|testing|testsuite|examples?|demos?|samples?|benchmarks?)/")
_LINKAGE = re.compile(rb"\bextern\s*\Z")
_BRACE = re.compile(rb"[{}]")
# How far ahead of a brace `extern "C"` stands at most; strings are blanked.
_NEAR = 200
_BLANKS = re.compile(r"\s+")
_COMMENT_BELOW = re.compile(rb"(?:[ \t]+(?:/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)[ \t]*\r?\n)+(?=[ \t]*(?:\r?\n|\Z))")


class Shape(StrEnum):
    """What a member is, as far as its declaration tells; a ``PLAIN`` one may be a record by a typedef."""

    RECORD = "record"
    ARRAY = "array"
    BIT_FIELD = "bit-field"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class DeclaredMember:
    """``name`` as declared in ``record`` of ``file``, whose bytes are ``source``.

    ``type_text`` is the type of the member, or of an array's elements, empty where it cannot be written in front of a
    name.
    """

    file: str
    source: bytes
    record: RecordSpan
    name: str
    line: int
    shape: Shape
    type_text: str

    @property
    def place(self) -> str:
        """``file:line`` of the member."""
        return f"{self.file}:{self.line}"

    @property
    def title(self) -> str:
        """The record's type as C code names it."""
        return self.record.title


def find_member(
    tree: Path, record: str, member: str, mentions: Sequence[Mention]
) -> tuple[DeclaredMember, tuple[DeclaredMember, ...]]:
    """The declaration of ``member`` among its mentions, and the copies of it in other programs.

    Raises ``DeclarationNotFound``; ``EditRefused`` where several records fit or the record is user space's.
    """
    declared = list(_declared(tree, record, member, mentions))
    if not declared:
        remedy = "check the names, as the tag or typedef and the member's declaration have them"
        raise DeclarationNotFound(f"{tree} declares no record {record} with a member {member}; {remedy}")
    near = [one for one in declared if not one.file.startswith(_APART)] or declared
    likely = [one for one in near if not _TRIAL.search(one.file)] or near
    # What a unit declares for itself is no concern of others; a second header would be.
    if len(likely) > 1 or any(one not in likely and not one.file.endswith(".c") for one in near):
        places = ", ".join(one.place for one in near)
        reason = f"{near[0].title} with this member is declared {len(near)} times ({places})"
        lift = "name with --tree a folder that holds one of them and its users"
        raise EditRefused(Refusal(RefusalCode.AMBIGUOUS, near[0].place, reason, lift))
    one = likely[0]
    if is_user_abi(one.file):
        reason = f"{record} is shared with user space, which has no accessors"
        raise EditRefused(Refusal(RefusalCode.USER_ABI, one.place, reason))
    return one, tuple(other for other in declared if other is not one)


def is_apart(mention: Mention, declared: DeclaredMember) -> bool:
    """Whether the place belongs to another program than the record."""
    return mention.file.startswith(_APART) and not declared.file.startswith(_APART)


def _declared(tree: Path, record: str, member: str, mentions: Iterable[Mention]) -> Iterator[DeclaredMember]:
    for file, places in groupby(mentions, key=lambda mention: mention.file):
        source = read_source(tree / file)
        offsets = {mention.offset for mention in places}
        for one in records_named(source, record):
            if any(one.opening < offset < one.closing for offset in offsets):
                yield from _member(file, source, one, member)


def _member(file: str, source: bytes, record: RecordSpan, name: str) -> Iterator[DeclaredMember]:
    """The first declaration of the name in the record; none where there is none."""
    for declaration, declarators, origin in member_declarations(source, record):
        if name in declarators:
            declarator = declarators[name]
            first = declaration.child_by_field_name("declarator") or declarator
            words = source[origin + declaration.start_byte : origin + first.start_byte]
            line = source.count(b"\n", 0, origin + declarator.start_byte) + 1
            type_text = "" if _is_odd(declaration, declarator) else _type_text(words, declarator)
            yield DeclaredMember(file, source, record, name, line, _shape(declaration, declarator), type_text)
            return


def _shape(declaration: tree_sitter.Node, declarator: tree_sitter.Node) -> Shape:
    if declarator.type == "array_declarator":
        return Shape.ARRAY
    following = declarator.next_sibling
    if following is not None and following.type == "bitfield_clause":
        return Shape.BIT_FIELD
    type_ = declaration.child_by_field_name("type")
    is_record = type_ is not None and type_.type in ("struct_specifier", "union_specifier")
    return Shape.RECORD if is_record and declarator.type == "field_identifier" else Shape.PLAIN


def _is_odd(declaration: tree_sitter.Node, declarator: tree_sitter.Node) -> bool:
    """Whether the type cannot be written as words and stars: a body of its own, a function, an array of arrays."""
    type_ = declaration.child_by_field_name("type")
    if type_ is None or type_.child_by_field_name("body") is not None:
        return True
    if type_.type == "enum_specifier":
        return False
    is_array = declarator.type == "array_declarator"
    inner = declarator.child_by_field_name("declarator") if is_array else declarator
    while inner is not None and inner.type == "pointer_declarator":
        inner = inner.child_by_field_name("declarator")
    return inner is None or inner.type != "field_identifier"


def _type_text(text: bytes, declarator: tree_sitter.Node) -> str:
    """The words in front of the first declarator, as the source has them, with the stars of this one."""
    stars = 0
    inner: tree_sitter.Node | None = declarator
    while inner is not None and inner.type != "field_identifier":
        stars += inner.type == "pointer_declarator"
        inner = inner.child_by_field_name("declarator")
    words = _BLANKS.sub(" ", without_comments(text).decode("utf-8", "replace")).strip()
    return f"{words}{' ' if stars else ''}{'*' * stars}"


def position_behind(source: bytes, record: RecordSpan) -> int:
    """The offset behind the line on which the outermost declaration around the record ends.

    A comment right below it that is indented, with an empty line behind, belongs to it.
    """
    code = without_directives(without_comments(source))
    end = record.closing
    opening = _opening_around(code, record.start)
    while opening is not None:
        end = closing(code, opening) or end
        opening = _opening_around(code, opening)
    line_end = source.find(b"\n", code.find(b";", end))
    if line_end < 0:
        return len(source)
    start = source.rfind(b"\n", 0, line_end) + 1
    is_indented = source[start : start + 1].isspace()
    comment = None if is_indented else _COMMENT_BELOW.match(source, line_end + 1)
    return comment.end() if comment else line_end + 1


def _opening_around(code: bytes, offset: int) -> int | None:
    """The brace that is open at ``offset``, but for one that says how C++ links what is inside."""
    depth = 0
    for place in (match.start() for match in reversed(list(_BRACE.finditer(code, 0, offset)))):
        if code[place] == ord("}"):
            depth += 1
        elif depth == 0:
            return None if _LINKAGE.search(code, max(0, place - _NEAR), place) else place
        else:
            depth -= 1
    return None


def of_other_program(copy: DeclaredMember) -> Refusal:
    """That another program declares the member, too."""
    reason = f"another program has a {copy.title} with this member of its own"
    lift = "where it is compiled with files that were changed, give it the accessor as well"
    return Refusal(RefusalCode.OTHER_PROGRAM, copy.place, reason, lift)


# The accessor: what it gives, the lines that define it, and how its calls are written.

_WIDTH = 80
_INDENTATION = re.compile(rb"\n([ \t]+)\S")


class Form(StrEnum):
    """What an accessor gives to its caller."""

    ADDRESS = "address"
    ELEMENTS = "elements"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class MemberAccessor:
    """An accessor called ``name``; ``parameter`` is what it calls the record.

    A ``generic`` one is a macro, so that the result is as constant as the record.
    """

    name: str
    form: Form
    parameter: str
    generic: bool = False


def definition(accessor: MemberAccessor, member: DeclaredMember, following: bytes) -> bytes:
    """The lines that define the accessor, with an empty line in front and, before ``following``, behind."""
    comment = f"/* Users go through this, so that what is behind {member.name} can change. */"
    sign = "&" if accessor.form is Form.ADDRESS else ""
    if accessor.generic:
        result = f"{sign}({accessor.parameter})->{member.name}"
        lines = [f"#define {accessor.name}({accessor.parameter}) ({result})"]
    else:
        lines = _function(accessor, member, f"{sign}{accessor.parameter}->{member.name}")
    needs_gap = bool(following.strip()) and following.lstrip(b" \t")[:1] not in (b"\r", b"\n")
    text = "\n".join(("", comment, *lines, *([""] if needs_gap else []), ""))
    ending = b"\r\n" if b"\r\n" in member.source else b"\n"
    return text.encode("utf-8", "surrogateescape").replace(b"\n", ending)


def _function(accessor: MemberAccessor, member: DeclaredMember, value: str) -> list[str]:
    type_ = member.type_text
    if not type_:
        whole = f"(({member.title} *)0)->{member.name}"
        type_ = f"__typeof__({whole}[0])" if member.shape is Shape.ARRAY else f"__typeof__({whole})"
    by_value = accessor.form is Form.VALUE
    if not by_value:
        type_ += "*" if type_.endswith("*") else " *"
    signature = f"{accessor.name}({'const ' * by_value}{member.title} *{accessor.parameter})"
    head = f"static inline {type_}{'' if type_.endswith('*') else ' '}{signature}"
    heads = [head] if len(head) <= _WIDTH else [f"static inline {type_}", signature]
    # The body is indented like the first line of the record.
    match = _INDENTATION.search(member.source, member.record.opening, member.record.closing)
    indentation = match[1].decode() if match else "\t"
    return [*heads, "{", f"{indentation}return {value};", "}"]


def plain_calls(source: bytes, name: str) -> bytes:
    """``source`` with ``name((x))`` and ``name(&(*x))`` as ``name(x)``, the rest as it is."""
    code = without_comments(source)
    result, position = bytearray(), 0
    calls = list(re.finditer(rb"\b" + re.escape(name.encode()) + rb"\((?P<address>&?)(?=\()", code))
    ends = closings(code, (match.end() for match in calls))
    for match in calls:
        start, end = match.end() + 1, ends.get(match.end())
        if end is None or code[end + 1 : end + 2] != b")" or match.start() < position:
            continue
        if match["address"]:
            if not re.fullmatch(rb"\*\w+", code[start:end]):
                continue
            start += 1
        result += source[position : match.start("address")] + source[start:end]
        position = end + 1
    return bytes(result + source[position:])
