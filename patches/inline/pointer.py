# SPDX-License-Identifier: GPL-2.0-or-later
"""The member that points to an object: where it is declared, what it points to, and whether that can be a member."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.source.atoms import line_number
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.grammar import body
from linesmith.patches.source.macros import without_comments

# The names that one record goes by in C, and how a semantic patch asks for a variable of such a type.

_NAME = rb"([A-Za-z_]\w*)"
_BEHIND = re.compile(rb"\s*" + _NAME + rb"\s*;")
_TYPEDEF = re.compile(rb"\btypedef\s+\Z")


def names_of(declared: Declared, sources: Iterable[bytes]) -> tuple[str, ...]:
    """The record as C code may name it, its title first: ``struct _queue``, ``queue_t``."""
    record = declared.record
    if record.typedef:
        return (record.title,)
    code = without_comments(declared.source)
    own = _BEHIND.match(code, record.closing + 1) if _TYPEDEF.search(code, 0, record.start) else None
    found = [record.title] + ([own[1].decode()] if own else [])
    pattern = re.compile(rb"\btypedef\s+struct\s+" + re.escape(record.name.encode()) + rb"\s+" + _NAME + rb"\s*;")
    for source in sources:
        if record.name.encode() in source:
            found += [name.decode() for name in pattern.findall(without_comments(source))]
    return tuple(dict.fromkeys(found))


def tags_of(name: str, sources: Iterable[bytes]) -> tuple[str, ...]:
    """The tags of structs that a typedef calls ``name``."""
    pattern = re.compile(rb"\btypedef\s+struct\s+" + _NAME + rb"\s+" + re.escape(name.encode()) + rb"\s*;")
    found = (pattern.findall(without_comments(one)) for one in sources if name.encode() in one)
    return tuple(dict.fromkeys(tag.decode() for group in found for tag in group))


def pointer_variable(titles: Sequence[str], name: str) -> str:
    """The metavariable ``name``, a pointer to a record of any of these names."""
    return _variable([f"{title} *" for title in titles], name)


def record_variable(titles: Sequence[str], name: str) -> str:
    """The metavariable ``name``, a record of any of these names."""
    return _variable([f"{title} " for title in titles], name)


def typedefs(titles: Sequence[str]) -> tuple[str, ...]:
    """What tells SmPL which of the names are those of typedefs."""
    return tuple(f"typedef {title};" for title in titles if " " not in title)


def _variable(types: Sequence[str], name: str) -> str:
    return f"{types[0]}{name};" if len(types) == 1 else f"{{{', '.join(one.strip() for one in types)}}} {name};"


_ANNOTATIONS = re.compile(rb"\b__(?:rcu|percpu|user|iomem|private|kptr|kptr_untrusted|uptr|arena)\b")
_PLAIN = re.compile(rb"((?:struct\s+)?[A-Za-z_]\w*)\s*\*\s*([A-Za-z_]\w*)\s*;\Z")
_NO_RECORD = frozenset(("void", "char", "int", "long", "short", "unsigned", "bool", "float", "double", "signed"))
_INTEGER = re.compile(r"(?:__)?(?:u|s|le|be|uint|int)\d+(?:_t)?\Z")


@dataclass(frozen=True, slots=True)
class PointerMember:
    """``title name``, a pointer to ``target``, is declared in ``outer`` at the bytes ``start`` … ``end``.

    ``target`` is the type as the declaration names it. The span ends behind the semicolon. ``holders`` are all names of
    the record that has the pointer, ``targets`` those of the one it leads to.
    """

    outer: Declared
    name: str
    target: str
    start: int
    end: int
    holders: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def record(self) -> str:
        """The tag or typedef name of what it points to."""
        return self.target.removeprefix("struct ").strip()

    @property
    def place(self) -> str:
        """``file:line`` of the declaration."""
        return f"{self.outer.file}:{line_number(self.outer.source, self.start)}"


def pointer_member(outer: Declared, name: str) -> PointerMember:
    """The member ``name`` of ``outer``; raises ``EditRefused`` where it is no plain pointer to one record."""
    found = [node for node in _declarations(outer) if name in _declared(node)]
    if not found:
        place, title = outer.place, outer.record.title
        reason = f"{title} declares no member `{name}`"
        raise EditRefused(Refusal(RefusalCode.NOT_WRITTEN, place, reason, "name one that is written in its body"))
    node = found[0]
    start = outer.record.start + node.start_byte
    end = outer.record.start + node.end_byte
    place = f"{outer.file}:{line_number(outer.source, start)}"
    if len(found) > 1:
        reason = f"`{name}` is declared in several places of the body"
        raise EditRefused(Refusal(RefusalCode.DECLARED_TWICE, place, reason))
    if _in_union(node):
        reason = f"`{name}` shares its place with the other members of a union"
        raise EditRefused(Refusal(RefusalCode.POINTER_KIND, place, reason))
    target = _target(outer.source[start:end], name, place)
    return PointerMember(outer, name, target, start, end, names_of(outer, (outer.source,)), (target,))


def _target(text: bytes, name: str, place: str) -> str:
    code = without_comments(text)
    if annotation := _ANNOTATIONS.search(code):
        word = annotation[0].decode()
        reason = f"`{name}` is {word}: the pointer stands for more than the address of one object"
        raise EditRefused(Refusal(RefusalCode.ANNOTATED_POINTER, place, reason))
    if b"," in code:
        reason = f"`{name}` is declared together with other members"
        lift = "give it a declaration of its own first"
        raise EditRefused(Refusal(RefusalCode.JOINT, place, reason, lift))
    match = _PLAIN.match(b" ".join(code.split()))
    target = match[1].decode() if match else ""
    if not target or target in _NO_RECORD or _INTEGER.match(target):
        reason = f"`{name}` is no plain pointer to one struct (`{b' '.join(code.split()).decode('utf-8', 'replace')}`)"
        raise EditRefused(Refusal(RefusalCode.POINTER_KIND, place, reason, "name a member that is one"))
    return target


def _declarations(outer: Declared) -> Iterator[tree_sitter.Node]:
    """Every member declaration of the body, those of anonymous records and of all arms of conditionals included."""
    nodes, _ = body(outer.source, outer.record)
    waiting = [node.syntax for node in reversed(nodes)]
    while waiting:
        node = waiting.pop()
        if node.type == "field_declaration":
            yield node
        if node.type != "field_declaration" or not _declared(node):
            waiting.extend(reversed(node.children))


def _declared(node: tree_sitter.Node) -> tuple[str, ...]:
    parts = node.children_by_field_name("declarator")
    return tuple(name for part in parts if (name := _identifier(part)))


def _identifier(node: tree_sitter.Node) -> str:
    if node.type == "field_identifier":
        return (node.text or b"").decode("ascii", "replace")
    return next((name for child in node.named_children if (name := _identifier(child))), "")


def _in_union(node: tree_sitter.Node) -> bool:
    above = node.parent
    while above is not None:
        if above.type == "union_specifier":
            return True
        above = above.parent
    return False
