# SPDX-License-Identifier: GPL-2.0-or-later
"""The accessor: what it gives, the lines that define it, and how its calls are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from linesmith.patches.encapsulation.member import DeclaredMember, Shape
from linesmith.patches.source.macros import closings, without_comments

_WIDTH = 80
_INDENTATION = re.compile(rb"\n([ \t]+)\S")
_CALL = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)(?P<blank> ?)\(")
_KEYWORDS = frozenset(
    (b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"typeof", b"__attribute__", b"defined")
)


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


def spaced(source: bytes) -> bool:
    """Whether most calls in ``source`` have a blank in front of their parenthesis, as the GNU style wants."""
    code = without_comments(source)
    calls = [match for match in _CALL.finditer(code) if match["name"] not in _KEYWORDS]
    return 2 * sum(bool(match["blank"]) for match in calls) > len(calls)


def in_style(text: bytes, name: str, *, blank: bool) -> bytes:
    """``text`` with a ``blank`` between ``name`` and its parenthesis, where there is to be one."""
    word = re.escape(name.encode())
    return re.sub(rb"(?<!define )\b" + word + rb"\(", name.encode() + b" (", text) if blank else text
