# SPDX-License-Identifier: GPL-2.0-or-later
"""A member that is to be hidden: its declaration, the accessor, and semantic patches about it.

These say what users do with it, put the accessor in its place, and call functions for tests that are spelt out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import tree_sitter

from linesmith.patches.source.atoms import line_number
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.records import RecordSpan, declaration_end
from linesmith.patches.treewide.spatch import ANY_RECORD, MemberRules, SemanticPatch, named_like
from linesmith.patches.treewide.syntax import PUBLISHERS, member_declarations

_DECLARATOR = re.compile(r"(\**)\s*\w+\s*(?:\[[^\[\]]*\])?")
_COMMENT_BELOW = re.compile(rb"(?:[ \t]+(?:/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)[ \t]*\r?\n)+(?=[ \t]*(?:\r?\n|\Z))")
# Macros that need their argument as an object in memory, not as a value, or ask for the size of an array.
_NEED_OBJECT = (
    *PUBLISHERS, "data_race", "swap", "get_user", "put_user", "_*this_cpu_[a-z_0-9]+", "ARRAY_SIZE",
    "__must_be_array", "strscpy", "strscpy_pad", "strtomem[a-z_0-9]*", "memtostr[a-z_0-9]*",
    "G_N_ELEMENTS", "nitems", "_*[Aa]lignof_*",
)  # fmt: skip
# What inline functions near a record return of its member, and others may spell out.
_TESTS = "RB_EMPTY_ROOT|RB_EMPTY_NODE|list_empty|list_empty_careful|list_is_singular|hlist_empty"


class Form(StrEnum):
    """What an accessor gives to its caller."""

    ADDRESS = "address"
    ELEMENTS = "elements"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class DeclaredMember:
    """``name`` as declared on a ``line`` of ``outer``; ``form`` is what an accessor gives, where that says it.

    ``type_text`` is the type of the member, or of an array's elements, empty where it cannot be written in front of a
    name.
    """

    outer: Declared
    name: str
    line: int
    form: Form | None
    type_text: str

    @property
    def place(self) -> str:
        """``file:line`` of the member."""
        return f"{self.outer.file}:{self.line}"

    @property
    def title(self) -> str:
        """The record's type as C code names it."""
        return self.outer.record.title


def declared_member(outer: Declared, name: str) -> DeclaredMember:
    """The first declaration of ``name`` in the record, which has one."""
    found = (one for one in member_declarations(outer.source, outer.record) if name in one[1])
    declaration, declarators, origin = next(found)
    declarator = declarators[name]
    first = declaration.child_by_field_name("declarator") or declarator
    words = outer.source[origin + declaration.start_byte : origin + first.start_byte]
    line = line_number(outer.source, origin + declarator.start_byte)
    return DeclaredMember(outer, name, line, _form(declaration, declarator), _type_text(words, declarator))


def _form(declaration: tree_sitter.Node, declarator: tree_sitter.Node) -> Form | None:
    """Elements of an array, the address of a struct or union, the value of a bit-field; others may be any."""
    if declarator.type == "array_declarator":
        return Form.ELEMENTS
    following, type_ = declarator.next_sibling, declaration.child_by_field_name("type")
    if following is not None and following.type == "bitfield_clause":
        return Form.VALUE
    is_record = type_ is not None and type_.type in ("struct_specifier", "union_specifier")
    return Form.ADDRESS if is_record and declarator.type == "field_identifier" else None


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
    ending = b"\r\n" if b"\r\n" in member.outer.source else b"\n"
    return text.encode("utf-8", "surrogateescape").replace(b"\n", ending)


def _function(accessor: MemberAccessor, member: DeclaredMember, value: str) -> list[str]:
    type_ = member.type_text
    if not type_:
        whole = f"(({member.title} *)0)->{member.name}"
        type_ = f"__typeof__({whole}[0])" if member.form is Form.ELEMENTS else f"__typeof__({whole})"
    by_value = accessor.form is Form.VALUE
    if not by_value:
        type_ += "*" if type_.endswith("*") else " *"
    signature = f"{accessor.name}({'const ' * by_value}{member.title} *{accessor.parameter})"
    head = f"static inline {type_}{'' if type_.endswith('*') else ' '}{signature}"
    heads = [head] if len(head) <= _WIDTH else [f"static inline {type_}", signature]
    # The body is indented like the first line of the record.
    record = member.outer.record
    match = _INDENTATION.search(member.outer.source, record.opening, record.closing)
    indentation = match[1].decode() if match else "\t"
    return [*heads, "{", f"{indentation}return {value};", "}"]


class MemberRole(StrEnum):
    """What a place does with the member; names of rules."""

    ADDRESS = "address"
    PART = "part"
    ASSIGNED = "assigned"
    UPDATED = "updated"
    HANDED = "handed"
    MEASURED = "measured"
    TYPED = "typed"
    ITERATED = "iterated"


# A pattern in parentheses matches what has none, or fewer, as well: an isomorphism of Coccinelle. A blank stands in
# front: in the first column SmPL takes an ampersand for its own.
_PATTERNS = {
    MemberRole.PART: (" $@p.f",),
    MemberRole.ASSIGNED: (" (($@p)) = V",),
    MemberRole.UPDATED: (" (($@p))++", " (($@p))--", " ++(($@p))", " --(($@p))", " (($@p)) A V"),
    MemberRole.HANDED: (" macro(..., (($@p)), ...)",),
    MemberRole.MEASURED: (" sizeof((($@p)))", " sizeof (($@p))"),
    MemberRole.TYPED: (" typeof($@p)", " typeof(($@p))"),
    # A macro with a body may do anything with what it is passed.
    MemberRole.ITERATED: (" IS(..., (($@p)), ...) S",),
    MemberRole.ADDRESS: (" &(($@p))",),
}
_OF_ARRAYS = (MemberRole.TYPED, MemberRole.ITERATED)
# Places that an accessor of each form cannot serve.
UNSERVED = {
    Form.ADDRESS: (MemberRole.ASSIGNED,),
    Form.ELEMENTS: (MemberRole.HANDED, MemberRole.MEASURED, MemberRole.TYPED, MemberRole.ITERATED, MemberRole.ADDRESS),
    Form.VALUE: (MemberRole.ASSIGNED, MemberRole.UPDATED, MemberRole.HANDED, MemberRole.ADDRESS),
}


def census(rules: MemberRules, macros: Sequence[str]) -> list[str]:
    """Rules that change nothing and match each use of any member of the name.

    ``macros`` are patterns of names of macros that may need an array itself; none where the member is no array.
    """
    return [_found(rules, role, macros) for role in _PATTERNS if macros or role not in _OF_ARRAYS]


def _found(rules: MemberRules, role: MemberRole, macros: Sequence[str]) -> str:
    macro = named_like("macro", "|".join((*_NEED_OBJECT, *macros)))
    return rules.rule(role, _PATTERNS[role], macro=macro, **ANY_RECORD)


def replacing(
    rules: MemberRules, name: str, form: Form, roles: Collection[str], macros: Sequence[str]
) -> SemanticPatch:
    """Rules that put the accessor ``name`` in place of the uses that it can serve.

    Alternatives are written only for the ``roles`` that there are; that of a plain use is empty.
    """
    unserved = [role for role in UNSERVED[form] if role in roles]
    where = f" != {{ {', '.join(f'{role}.p' for role in unserved)} }}" if unserved else ""
    # One rule for all: once a rule has changed a function, positions found before it mean nothing there.
    edits = [f"- {old}\n+ {new}" for old, new in _edits(f"{name}(#)", form, roles)]
    found = [_found(rules, role, macros) for role in unserved]
    return SemanticPatch("\n".join((*found, rules.rule("accessor", edits, where))))


def _edits(call: str, form: Form, roles: Collection[str]) -> Iterator[tuple[str, str]]:
    """What is taken out and what comes in, the special cases first."""
    if form is not Form.ADDRESS:
        yield "$@p", call
        return
    if MemberRole.ADDRESS in roles:
        yield "&$@p", call
    if MemberRole.PART in roles:
        yield "$@p.f", f"{call}->f"
    elif "" in roles:
        # A star binds weaker than what follows it, and begins a comment behind a slash.
        yield from ((f"$@p{end}", f"(*{call}){end}") for end in ("->f", "[V]", "(VS)", "++", "--"))
        yield "V / $@p", f"V / (*{call})"
    yield "$@p", f"*{call}"


# ``name(parameter)`` returns the ``test``, which names the member, or what negates it where there is a ``negation``.
Predicate = re.Match[str]


def predicates_of(declared: DeclaredMember) -> Iterator[Predicate]:
    """The inline functions of the record's own file that return a test of the member, such as ``list_empty()``."""
    code = without_directives(without_comments(declared.outer.source)).decode("utf-8", "surrogateescape")
    title = re.escape(declared.title).replace("\\ ", r"\s+")
    pattern = re.compile(
        r"\bstatic\s++(?:__always_)?inline\s++(?P<result>bool|int|_Bool)\s++(?P<name>\w++)\s*+"
        rf"\(\s*+(?:const\s++)?+{title}\s*+\*\s*+(?:const\s++)?+(?P<parameter>\w++)\s*+\)\s*+"
        rf"\{{\s*+return\b\s*+(?P<negation>!?)\s*+(?P<test>(?:{_TESTS})\s*+\([^;{{}}()]++\));\s*+\}}"
    )
    for match in pattern.finditer(code):
        if re.search(rf"\b{re.escape(match['parameter'])}\s*->\s*{re.escape(declared.name)}\b", match["test"]):
            yield match


def calling(rules: MemberRules, predicates: Sequence[Predicate]) -> SemanticPatch:
    """Rules that call the functions where their tests are spelt out; the functions themselves stay."""
    written = []
    for number, one in enumerate(predicates):
        holder, name = re.escape(one["parameter"]), one["name"]
        # The position is that of the first mention of the member.
        test = " ".join(one["test"].split())
        test = re.sub(rf"\b{holder}\s*->\s*{re.escape(rules.member)}\b", "$@p", test, count=1)
        test = re.sub(rf"\b{holder}\b", "#", test)
        same, opposite = ("!", "") if one["negation"] else ("", "!")
        edits = (f"- !{test}\n+ {opposite}{name}(#)", f"- {test}\n+ {same}{name}(#)")
        # Without this the function would call itself.
        outside = f' : script:python() {{ p[0].current_element != "{name}" }}'
        written.append(rules.rule(f"predicate{number}", edits, outside))
    return SemanticPatch("\n".join(written))
