# SPDX-License-Identifier: GPL-2.0-or-later
"""What an accessor gives, and its definition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from linesmith.patches.encapsulation.member import DeclaredMember, Shape

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
