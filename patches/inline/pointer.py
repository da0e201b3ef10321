# SPDX-License-Identifier: GPL-2.0-or-later
"""The member that points to an object: its declaration, and the record with the object in the place of the pointer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.source.atoms import line_number, scope
from linesmith.patches.source.body import all_members
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.pieces import followed
from linesmith.patches.treewide.mentions import names_of
from linesmith.patches.treewide.syntax import (
    enclosing,
    function_name,
    inside,
    member_declarations,
    parsed,
    preceding,
    text,
)

# What statements and declarations leave behind when they go: labels, code that nothing reaches, empty conditionals.

_DIRECTIVE = re.compile(rb"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\n])*\n?", re.MULTILINE)
_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n", re.MULTILINE
)


def without_unused_labels(before: bytes, after: bytes) -> bytes:
    """``after`` without the labels on lines of their own whose last ``goto`` has gone since ``before``.

    Behind a ``return`` or ``goto`` the statements up to the next label go too.
    """
    was = set(_jumps(parsed(before)))
    root = parsed(after)
    now = set(_jumps(root))
    for statement in reversed(list(inside(root, "labeled_statement"))):
        label = statement.child_by_field_name("label")
        key = (function_name(statement), text(label))
        if label is not None and key in was and key not in now:
            after = _without(after, statement, label)
    return after


def _jumps(root: tree_sitter.Node) -> Iterator[tuple[str, str]]:
    """Function and label of each ``goto``."""
    for one in inside(root, "goto_statement"):
        yield function_name(one), text(one.child_by_field_name("label"))


def _without(source: bytes, statement: tree_sitter.Node, label: tree_sitter.Node) -> bytes:
    start, end = source.rfind(b"\n", 0, label.start_byte) + 1, source.find(b"\n", label.end_byte) + 1
    if source[start:end].strip() != (label.text or b"") + b":":
        return source
    dead = _end_of_dead(source, statement)
    if dead is None:
        return source[:start] + source[end:]
    ends_block = source[dead:].lstrip().startswith(b"}")
    return (source[:start].rstrip() + b"\n" if ends_block else source[:start]) + source[dead:]


def _end_of_dead(source: bytes, statement: tree_sitter.Node) -> int | None:
    """Where what only the label led to ends: at the next label or the end of the block; ``None`` if it is reached."""
    before = preceding(statement)
    if before is None or before.type not in ("return_statement", "goto_statement"):
        return None
    last: tree_sitter.Node | None = statement
    while last is not None and (last == statement or last.type != "labeled_statement"):
        if last != statement and any(inside(last, "labeled_statement")):
            return None
        behind, last = last, last.next_named_sibling
    edge = last if last is not None else behind.next_sibling
    return source.rfind(b"\n", 0, edge.start_byte) + 1 if edge is not None else None


@dataclass(frozen=True, slots=True)
class Conditional:
    """An open ``#if``: its lines as written, and whether the place is behind an ``#else`` or ``#elif`` of it."""

    opening: bytes
    alternative: bool = False


def conditionals(source: bytes, offset: int, start: int = 0) -> tuple[Conditional, ...]:
    """The conditionals that begin behind ``start`` and are open at ``offset``, outermost first."""
    open_: list[Conditional] = []
    code = without_comments(source)
    for match in _DIRECTIVE.finditer(code, start, offset):
        if match[1].startswith(b"if"):
            open_.append(Conditional(source[match.start() : match.end()]))
        elif match[1] == b"endif":
            open_ = open_[:-1]
        elif open_:
            open_[-1] = Conditional(open_[-1].opening, alternative=True)
    return tuple(open_)


def without_emptied(before: bytes, after: bytes) -> bytes:
    """``after`` without conditionals that hold nothing; those that held nothing ``before`` stay."""
    held = set(_EMPTY.findall(before))
    return _EMPTY.sub(lambda match: match[0] if match[0] in held else b"", after)


_ANNOTATIONS = re.compile(rb"\b__(?:rcu|percpu|user|iomem|private|kptr|kptr_untrusted|uptr|arena)\b")
_PLAIN = re.compile(rb"((?:struct\s+)?[A-Za-z_]\w*)\s*\*\s*([A-Za-z_]\w*)\s*;\Z")
_NO_RECORD = frozenset(("void", "char", "int", "long", "short", "unsigned", "bool", "float", "double", "signed"))
_INTEGER = re.compile(r"(?:__)?(?:u|s|le|be|uint|int)\d+(?:_t)?\Z")
_COMMENT_ABOVE_MEMBER = re.compile(
    rb"(?:^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\r?\n|^[ \t]*//[^\n]*\n)+\Z", re.MULTILINE | re.DOTALL
)
_COMMENT_BEHIND = re.compile(rb"[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)?[ \t]*\r?\n", re.DOTALL)
_FLEXIBLE = re.compile(rb"\[\s*[01]?\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY|\bFLEX")


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
    members = member_declarations(outer.source, outer.record)
    declarations = [(node, origin) for node, names, origin in members if name in names]
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

    The comments of the pointer, its entry in kernel-doc and the conditionals around it go along. It stays where the
    pointer was when the record must end with another member, or when an ``#else`` decides which of two there is.
    """
    source = pointer.outer.source
    enclosing_ifs = conditionals(source, pointer.start, pointer.outer.record.opening)
    declared = f"{pointer.target} {pointer.name}{' ' * bool(attribute)}{attribute};".encode()
    if not _can_be_last(pointer) or any(one.alternative for one in enclosing_ifs):
        return source[: pointer.start] + declared + source[pointer.end :]
    # The whole lines of the declaration, with the comments right above and on its line.
    start = source.rfind(b"\n", 0, pointer.start) + 1
    above = _COMMENT_ABOVE_MEMBER.search(source, pointer.outer.record.opening, start)
    start = above.start() if above else start
    comment = _COMMENT_BEHIND.match(source, pointer.end)
    end = comment.end() if comment else pointer.end
    moved = source[start : pointer.start] + declared + source[pointer.end : end]
    block = b"".join(one.opening for one in enclosing_ifs) + moved + b"#endif\n" * len(enclosing_ifs)
    brace = source.rfind(b"\n", 0, pointer.outer.record.closing) + 1
    rest = source[:start] + source[end:brace]
    after = without_emptied(source, rest + block + source[brace:])
    # The member's entry of the kernel-doc comment goes as far down.
    record = pointer.outer.record
    members = all_members(scope(source, record)[0])
    return followed(after, record, members, (*(name for name in members if name != pointer.name), pointer.name))


def _can_be_last(pointer: PointerMember) -> bool:
    """Whether the member stands on lines of its own in the body itself, and the record does not end with an array."""
    record, source = pointer.outer.record, pointer.outer.source
    code = without_directives(without_comments(source))
    ahead = code[record.opening + 1 : pointer.start]
    if any(ahead.count(opening) != ahead.count(closing) for opening, closing in ((b"{", b"}"), (b"(", b")"))):
        return False
    last = code[record.opening + 1 : record.closing].rstrip()
    alone = not code[source.rfind(b"\n", 0, pointer.start) + 1 : pointer.start].strip()
    brace_alone = not code[source.rfind(b"\n", 0, record.closing) + 1 : record.closing].strip()
    return alone and brace_alone and not _FLEXIBLE.search(last[last.rfind(b";", 0, -1) + 1 :])
