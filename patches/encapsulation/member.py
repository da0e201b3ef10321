# SPDX-License-Identifier: GPL-2.0-or-later
"""The declaration of a member, found by the names of its record and itself, and how its type is spelt."""

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
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.source.grammar import body
from linesmith.patches.source.macros import closing, closings, without_comments, without_directives
from linesmith.patches.source.records import RecordSpan, records_named
from linesmith.patches.treewide.image import Mention, read_source, source_files

# Programs of their own, which share headers with the rest only by chance.
APART = ("tools/", "scripts/", "Documentation/")
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

    ``spelt`` is the type of the member, or of an array's elements, empty where it cannot be written in front of a name.
    ``behind`` is the offset in ``source`` at which declarations can follow the record.
    """

    file: str
    source: bytes
    record: RecordSpan
    name: str
    line: int
    shape: Shape
    spelt: str
    behind: int

    @property
    def place(self) -> str:
        """``file:line`` of the member."""
        return f"{self.file}:{self.line}"

    @property
    def title(self) -> str:
        """The record's type as C code names it."""
        return self.record.title


def find_member(
    tree: Path, record: str, member: str, found: Sequence[Mention]
) -> tuple[DeclaredMember, tuple[DeclaredMember, ...]]:
    """The declaration of ``member`` among its mentions, and the copies of it in other programs.

    Raises ``DeclarationNotFound``; ``EditRefused`` where several records fit or the record is user space's.
    """
    declared = list(_declared(tree, record, member, found))
    if not declared:
        remedy = "check the names, as the tag or typedef and the member's declaration have them"
        raise DeclarationNotFound(f"{tree} declares no record {record} with a member {member}; {remedy}")
    near = [one for one in declared if not one.file.startswith(APART)] or declared
    likely = [one for one in near if not _TRIAL.search(one.file)] or near
    # What a unit declares for itself is no concern of others; a second header would be.
    if len(likely) > 1 or any(one not in likely and not one.file.endswith(".c") for one in near):
        raise EditRefused(_several(near))
    one = likely[0]
    if is_user_abi(one.file):
        reason = f"{record} is shared with user space, which has no accessors"
        raise EditRefused(Refusal(RefusalCode.USER_ABI, one.place, reason))
    return one, tuple(other for other in declared if other is not one)


def is_apart(mention: Mention, declared: DeclaredMember) -> bool:
    """Whether the place belongs to another program than the record."""
    return mention.file.startswith(APART) and not declared.file.startswith(APART)


def _declared(tree: Path, record: str, member: str, found: Iterable[Mention]) -> Iterator[DeclaredMember]:
    for file, places in groupby(found, key=lambda mention: mention.file):
        source = read_source(tree / file)
        offsets = {mention.offset for mention in places}
        for one in records_named(source, record):
            if any(one.opening < offset < one.closing for offset in offsets):
                yield from _member(file, source, one, member)


def _member(file: str, source: bytes, record: RecordSpan, name: str) -> Iterator[DeclaredMember]:
    for node in body(source, record)[0]:
        for declaration, declarator in _declarators(node.syntax, name):
            first = declaration.child_by_field_name("declarator") or declarator
            words = source[node.origin + declaration.start_byte : node.origin + first.start_byte]
            shape = _shape(declaration, declarator)
            spelt = "" if _is_odd(declaration, declarator) else _spelt(words, declarator)
            line = source.count(b"\n", 0, node.origin + declarator.start_byte) + 1
            yield DeclaredMember(file, source, record, name, line, shape, spelt, position_behind(source, record))
            return


def _declarators(node: tree_sitter.Node, name: str) -> Iterator[tuple[tree_sitter.Node, tree_sitter.Node]]:
    """Declarations that declare ``name`` for the record itself, with the outermost declarator of the name."""
    if node.type == "field_declaration":
        own = node.children_by_field_name("declarator")
        yield from ((node, one) for one in own if _named(one) == name)
        if own:
            return
    for child in node.named_children:
        yield from _declarators(child, name)


def _named(declarator: tree_sitter.Node) -> str:
    inner: tree_sitter.Node | None = declarator
    while inner is not None and inner.type != "field_identifier":
        inner = inner.child_by_field_name("declarator") or next(iter(inner.named_children), None)
    return (inner.text or b"").decode() if inner is not None else ""


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
    """Whether the type cannot be spelt as words and stars: a body of its own, a function, an array of arrays."""
    type_ = declaration.child_by_field_name("type")
    if type_ is None or type_.child_by_field_name("body") is not None or type_.type == "enum_specifier":
        return type_ is None or type_.child_by_field_name("body") is not None
    inner: tree_sitter.Node | None = declarator
    if inner is not None and inner.type == "array_declarator":
        inner = inner.child_by_field_name("declarator")
    while inner is not None and inner.type == "pointer_declarator":
        inner = inner.child_by_field_name("declarator")
    return inner is None or inner.type != "field_identifier"


def _spelt(text: bytes, declarator: tree_sitter.Node) -> str:
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
    told_below = None if is_indented else _COMMENT_BELOW.match(source, line_end + 1)
    return told_below.end() if told_below else line_end + 1


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


def _several(declared: Sequence[DeclaredMember]) -> Refusal:
    places = ", ".join(one.place for one in declared)
    reason = f"{declared[0].title} with this member is declared {len(declared)} times ({places})"
    lift = "name with --tree a folder that holds one of them and its users"
    return Refusal(RefusalCode.AMBIGUOUS, declared[0].place, reason, lift)


def told(copy: DeclaredMember) -> Refusal:
    """That another program declares the member, too."""
    reason = f"another program has a {copy.title} with this member of its own"
    lift = "where it is compiled with files that were changed, give it the accessor as well"
    return Refusal(RefusalCode.OTHER_PROGRAM, copy.place, reason, lift)


# Other names of a record: typedefs of its tag.

_BEHIND = re.compile(rb"\s*+(\w++)\s*+;")


def aliases(tree: Path, record: RecordSpan) -> tuple[str, ...]:
    """The typedefs of ``record`` anywhere in the tree, by name.

    None for a kernel, which hardly has any: there it is left to Coccinelle to find them in headers.
    """
    if record.typedef or is_kernel(tree):
        return ()
    head = re.compile(
        rb"\btypedef\s++%s\s++%s\b\s*+(?:(\{)|(\w++)\s*+;)?" % (record.kind.encode(), re.escape(record.name.encode()))
    )
    found: set[str] = set()
    for file in source_files(tree):
        source = read_source(tree / file)
        if b"typedef" in source and record.name.encode() in source:
            found.update(_names(without_comments(source), head))
    return tuple(sorted(found - {record.name}))


def _names(code: bytes, head: re.Pattern[bytes]) -> Iterator[str]:
    """The names behind the heads, or behind the bodies that they open."""
    matches = list(head.finditer(code))
    yield from (match[2].decode() for match in matches if match[2])
    for end in closings(code, (match.start(1) for match in matches if match[1])).values():
        if behind := _BEHIND.match(code, end + 1):
            yield behind[1].decode()


# What an accessor gives, and its definition.

_WIDTH = 80
_INDENTATION = re.compile(rb"\n([ \t]+)\S")


class Form(StrEnum):
    """What an accessor gives to its caller."""

    ADDRESS = "address"
    ELEMENTS = "elements"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Accessor:
    """An accessor called ``name``; ``parameter`` is what it calls the record.

    ``generic`` tells that it is a macro, so that the result is as constant as the record.
    """

    name: str
    form: Form
    parameter: str
    generic: bool = False


def definition(accessor: Accessor, member: DeclaredMember, following: bytes) -> bytes:
    """The lines that define the accessor, with an empty line in front and, before ``following``, behind."""
    comment = f"/* Users go through this, so that what is behind {member.name} can change. */"
    lines = _macro(accessor, member) if accessor.generic else _function(accessor, member)
    needs_gap = bool(following.strip()) and following.lstrip(b" \t")[:1] not in (b"\r", b"\n")
    text = "\n".join(("", comment, *lines, *([""] if needs_gap else []), ""))
    ending = b"\r\n" if b"\r\n" in member.source else b"\n"
    return text.encode("utf-8", "surrogateescape").replace(b"\n", ending)


def _macro(accessor: Accessor, member: DeclaredMember) -> tuple[str, ...]:
    result = f"{_AHEAD[accessor.form]}({accessor.parameter})->{member.name}"
    return (f"#define {accessor.name}({accessor.parameter}) ({result})",)


def _function(accessor: Accessor, member: DeclaredMember) -> tuple[str, ...]:
    result = _returned(accessor.form, member)
    constant = "const " if accessor.form is Form.VALUE else ""
    gap = "" if result.endswith("*") else " "
    signature = f"{accessor.name}({constant}{member.title} *{accessor.parameter})"
    head = f"static inline {result}{gap}{signature}"
    heads = (head,) if len(head) <= _WIDTH else (f"static inline {result}", signature)
    value = f"{_indentation(member)}return {_AHEAD[accessor.form]}{accessor.parameter}->{member.name};"
    return (*heads, "{", value, "}")


_AHEAD = {Form.ADDRESS: "&", Form.ELEMENTS: "", Form.VALUE: ""}


def _returned(form: Form, member: DeclaredMember) -> str:
    spelt = member.spelt
    if not spelt:
        whole = f"(({member.title} *)0)->{member.name}"
        spelt = f"__typeof__({whole}[0])" if member.shape is Shape.ARRAY else f"__typeof__({whole})"
    if form is Form.VALUE:
        return spelt
    return f"{spelt}*" if spelt.endswith("*") else f"{spelt} *"


def _indentation(member: DeclaredMember) -> str:
    """How the body of the record is indented: that of its first line."""
    match = _INDENTATION.search(member.source, member.record.opening, member.record.closing)
    return match[1].decode() if match and b" " not in match[1] else (match[1].decode() if match else "\t")
