# SPDX-License-Identifier: GPL-2.0-or-later
"""The declaration of a member, by the names of its record and itself, and how its type is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import tree_sitter

from linesmith.patches.source.atoms import line_number
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.records import RecordSpan, declaration_end
from linesmith.patches.treewide.syntax import member_declarations

_DECLARATOR = re.compile(r"(\**)\s*\w+\s*(?:\[[^\[\]]*\])?")
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


def declared_member(outer: Declared, name: str) -> DeclaredMember:
    """The first declaration of ``name`` in the record, which has one."""
    source, record = outer.source, outer.record
    found = (one for one in member_declarations(source, record) if name in one[1])
    declaration, declarators, origin = next(found)
    declarator = declarators[name]
    first = declaration.child_by_field_name("declarator") or declarator
    words = source[origin + declaration.start_byte : origin + first.start_byte]
    line = line_number(source, origin + declarator.start_byte)
    type_text = _type_text(words, declarator)
    return DeclaredMember(outer.file, source, record, name, line, _shape(declaration, declarator), type_text)


def _shape(declaration: tree_sitter.Node, declarator: tree_sitter.Node) -> Shape:
    if declarator.type == "array_declarator":
        return Shape.ARRAY
    following = declarator.next_sibling
    if following is not None and following.type == "bitfield_clause":
        return Shape.BIT_FIELD
    type_ = declaration.child_by_field_name("type")
    is_record = type_ is not None and type_.type in ("struct_specifier", "union_specifier")
    return Shape.RECORD if is_record and declarator.type == "field_identifier" else Shape.PLAIN


def _type_text(text: bytes, declarator: tree_sitter.Node) -> str:
    """The words in front of the first declarator, as the source has them, with the stars of this one.

    Empty for a body of its own, a function or an array of arrays, which cannot be written so.
    """
    plain = _DECLARATOR.fullmatch((declarator.text or b"").decode("utf-8", "replace"))
    words = " ".join(without_comments(text).decode("utf-8", "replace").split())
    if plain is None or "{" in words:
        return ""
    return f"{words} {plain[1]}".rstrip()


def position_behind(source: bytes, record: RecordSpan) -> int:
    """The offset behind the line on which the declaration of the record ends.

    A comment right below it that is indented, with an empty line behind, belongs to it.
    """
    code = without_directives(without_comments(source))
    line_end = source.find(b"\n", declaration_end(code, record.closing)) + 1 or len(source)
    start = source.rfind(b"\n", 0, line_end - 1) + 1
    comment = None if source[start : start + 1].isspace() else _COMMENT_BELOW.match(source, line_end)
    return comment.end() if comment else line_end


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
