# SPDX-License-Identifier: GPL-2.0-or-later
"""The member that points to an object: its declaration, and the record with the object in the place of the pointer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Move, MoveKind, Refusal, RefusalCode
from linesmith.patches.edit.moves import moved
from linesmith.patches.source.atoms import line_number
from linesmith.patches.source.body import all_members, members, parsed
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments
from linesmith.patches.source.pieces import SourceText, followed
from linesmith.patches.treewide.mentions import names_of
from linesmith.patches.treewide.syntax import enclosing, member_declarations

_ANNOTATIONS = re.compile(rb"\b__(?:rcu|percpu|user|iomem|private|kptr|kptr_untrusted|uptr|arena)\b")
_PLAIN = re.compile(rb"((?:struct\s+)?[A-Za-z_]\w*)\s*\*\s*([A-Za-z_]\w*)\s*;\Z")
_NO_RECORD = frozenset(("void", "char", "int", "long", "short", "unsigned", "bool", "float", "double", "signed"))
_INTEGER = re.compile(r"(?:__)?(?:u|s|le|be|uint|int)\d+(?:_t)?\Z")
_FLEXIBLE = re.compile(rb"\[\s*[01]?\s*\]\s*\Z|DECLARE_FLEX_ARRAY|\bFLEX")


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
    every = member_declarations(outer.source, outer.record)
    declarations = [(node, origin) for node, names, origin in every if name in names]
    if not declarations:
        reason = f"{outer.record.title} declares no member `{name}`"
        raise EditRefused(Refusal(RefusalCode.NOT_WRITTEN, outer.place, reason, "name one that is written in its body"))
    node, origin = declarations[0]
    start, end = origin + node.start_byte, origin + node.end_byte
    place = f"{outer.file}:{line_number(outer.source, start)}"
    if len(declarations) > 1:
        reason = f"`{name}` is declared in several places of the body"
        raise EditRefused(Refusal(RefusalCode.DECLARED_TWICE, place, reason))
    if enclosing(node, "union_specifier") is not None:
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


def with_object(pointer: PointerMember, attribute: str) -> bytes:
    """The file with the object as the last member of the record, aligned by ``attribute`` (empty: not at all).

    The comments of the pointer, its entry in kernel-doc and the conditional around it go along. It stays where the
    pointer was in an anonymous struct, and where the record must end with another member.
    """
    outer, source = pointer.outer, pointer.outer.source
    declared = f"{pointer.target} {pointer.name}{' ' * bool(attribute)}{attribute};".encode()
    replaced = source[: pointer.start] + declared + source[pointer.end :]
    record = replace(outer.record, closing=outer.record.closing + len(replaced) - len(source))
    body = parsed(SourceText(replaced, outer.file), record)
    before, direct = all_members(body.outer), members(body.outer)
    last = without_comments(replaced)[: record.closing].rstrip().rpartition(b";")[0].rpartition(b";")[2]
    if pointer.name not in direct[:-1] or _FLEXIBLE.search(last):
        return replaced
    try:
        body = moved(body, Move(MoveKind.MOVE, pointer.name, after=direct[-1]))
    except EditRefused:
        return replaced
    return followed(body.origin.source, record, before, all_members(body.outer))


# What statements leave behind when they go: conditionals that hold nothing.

_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n", re.MULTILINE
)


def without_emptied(before: bytes, after: bytes) -> bytes:
    """``after`` without conditionals that hold nothing; those that held nothing ``before`` stay."""
    held = set(_EMPTY.findall(before))
    return _EMPTY.sub(lambda match: match[0] if match[0] in held else b"", after)
