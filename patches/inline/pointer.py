# SPDX-License-Identifier: GPL-2.0-or-later
"""The member that points to an object, the record with the object in its place, and the semantic patch for its users.

A rule is written only where a use asks for it, so that what is printed is short enough to be read and edited.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.source.atoms import Atom, AtomKind, MemberScope, line_number, scope
from linesmith.patches.source.body import all_members
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.pieces import followed
from linesmith.patches.treewide.spatch import MemberRules
from linesmith.patches.treewide.syntax import enclosing, member_declarations

_ANNOTATIONS = re.compile(rb"\b__(?:rcu|percpu|user|iomem|private|kptr|kptr_untrusted|uptr|arena)\b")
_PLAIN = re.compile(rb"((?:struct\s+)?[A-Za-z_]\w*)\s*\*\s*([A-Za-z_]\w*)\s*;\Z")
_NO_RECORD = frozenset(("void", "char", "int", "long", "short", "unsigned", "bool", "float", "double", "signed"))
_INTEGER = re.compile(r"(?:__)?(?:u|s|le|be|uint|int)\d+(?:_t)?\Z")
_COMMENT_ABOVE = re.compile(
    rb"(?:^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\r?\n|^[ \t]*//[^\n]*\n)+\Z", re.MULTILINE | re.DOTALL
)
_MOST_OF_A_COMMENT = 8192
_FLEXIBLE = re.compile(rb"\[\s*[01]?\s*\]\s*;\s*\Z|DECLARE_FLEX_ARRAY|\bFLEX")
CACHE_CREATORS = ("KMEM_CACHE", "KMEM_CACHE_USERCOPY", "kmem_cache_create", "kmem_cache_create_usercopy")


class Role(StrEnum):
    """What is done with ``x->p`` at one place; an object in the pointer's place can stand for all but the last."""

    MEMBER = "x->p->f"
    OBJECT = "*x->p"
    VALUE = "x->p"
    ALLOCATION = "x->p = kmalloc()"
    ALLOCATION_CHECK = "if (!x->p) behind the allocation"
    RELEASE = "kfree(x->p)"
    RELEASE_CHECK = "if (x->p) in front of the release"
    CLEARED = "x->p = NULL"
    STANDING = "it stands in the way"


@dataclass(frozen=True, slots=True)
class PointerUse:
    """One place where the pointer is used, in ``function`` (empty outside of all).

    ``holder`` is the record that has it, as written. ``callee`` is the function called with it, ``cache`` the slab
    cache that the object is taken from; each is empty where there is none.
    ``clears``: the object may be all zero. ``refusal`` says what stands in the way.
    """

    file: str
    line: int
    role: Role
    function: str = ""
    holder: str = ""
    callee: str = ""
    cache: str = ""
    clears: bool = False
    refusal: Refusal | None = None

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


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
    """The member ``name``, which ``outer`` declares; raises ``EditRefused`` where that is no plain pointer."""
    every = member_declarations(outer.source, outer.record)
    (node, origin), *more = [(node, origin) for node, names, origin in every if name in names]
    start, end = origin + node.start_byte, origin + node.end_byte
    code = b" ".join(without_comments(outer.source[start:end]).split())
    annotation, match = _ANNOTATIONS.search(code), _PLAIN.match(code)
    target = match[1].decode() if match else ""
    word, said = annotation[0].decode() if annotation else "", code.decode("utf-8", "replace")
    is_other = not target or target in _NO_RECORD or _INTEGER.match(target)
    kind, is_shared = RefusalCode.POINTER_KIND, enclosing(node, "union_specifier")
    marked, apart = (
        "the pointer stands for more than the address of one object",
        "give it a declaration of its own first",
    )
    for wrong, code_of_it, reason, lift in (
        (more, RefusalCode.DECLARED_TWICE, "is declared in several places of the body", ""),
        (is_shared, kind, "shares its place with the other members of a union", ""),
        (word, RefusalCode.ANNOTATED_POINTER, f"is {word}: {marked}", ""),
        (b"," in code, RefusalCode.JOINT, "is declared together with other members", apart),
        (is_other, kind, f"is no plain pointer to one struct (`{said}`)", "name a member that is one"),
    ):
        if wrong:
            place = f"{outer.file}:{line_number(outer.source, start)}"
            raise EditRefused(Refusal(code_of_it, place, f"`{name}` {reason}", lift))
    return PointerMember(outer, name, target, start, end, (outer.record.title,), (target,))


def with_object(pointer: PointerMember, attribute: str) -> bytes:
    """The file with the object as the last member of the record, aligned by ``attribute`` (empty: not at all).

    The comments of the pointer, its entry in kernel-doc and the conditionals around it go along. It stays where the
    pointer was when the record must end with another member, or when an ``#else`` decides which of two there is.
    """
    record, source = pointer.outer.record, pointer.outer.source
    declared = f"{pointer.target} {pointer.name}{' ' * bool(attribute)}{attribute};".encode()
    inside = scope(source, record)[0]
    *around, own = _way(inside, pointer.name) or (None,)
    plain = without_comments(source)
    code = without_directives(plain)[record.opening + 1 : record.closing].rstrip()
    if own is None or _FLEXIBLE.search(code[code.rfind(b";", 0, -1) + 1 :]):
        return source[: pointer.start] + declared + source[pointer.end :]
    # The head of each arm, with its continued lines.
    ends = [(one.start, one.scopes[0].start) for one in around if one.kind is AtomKind.CONDITIONAL]
    block = b"".join(source[plain.rfind(b"#", start, end) : end] for start, end in ends)
    block += source[own.start : pointer.start] + declared + source[pointer.end : own.end] + b"#endif\n" * len(ends)
    after = source[: own.start] + source[own.end : inside.end] + block + source[inside.end :]
    # The member's entry of the kernel-doc comment goes as far down.
    members = all_members(inside)
    order = (*(name for name in members if name != pointer.name), pointer.name)
    return followed(without_emptied(source, after), record, members, order)


def _way(inside: MemberScope, name: str) -> list[Atom]:
    """The conditionals and groups around the declaration of a member, and its own lines.

    Empty where it is in an anonymous record, in one of several arms, or on a line with something else.
    """
    atom = next((one for one in inside.atoms if one.declares(name)), None)
    if atom is None or atom.start < inside.start or atom.end > inside.end:
        return []
    if atom.kind is AtomKind.DECLARATION:
        return [atom] if len(atom.declarations) == 1 and name in atom.names else []
    if atom.kind not in (AtomKind.CONDITIONAL, AtomKind.GROUP) or len(atom.scopes) != 1:
        return []
    way = _way(atom.scopes[0], name)
    return [atom, *way] if way else []


def commented_start(source: bytes, offset: int) -> int:
    """Where the line of ``offset`` begins, with the comments right above it."""
    start = source.rfind(b"\n", 0, offset) + 1
    # The regular expression tries each line.
    above = _COMMENT_ABOVE.search(source, max(0, start - _MOST_OF_A_COMMENT), start)
    return above.start() if above else start


# What statements leave behind when they go: conditionals that hold nothing.

_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b(?:[^\n]*\\\r?\n){0,9}[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n",
    re.MULTILINE,
)


def without_emptied(before: bytes, after: bytes) -> bytes:
    """``after`` without conditionals that hold nothing; those that held nothing ``before`` stay."""
    held = set(_EMPTY.findall(before))
    return _EMPTY.sub(lambda match: match[0] if match[0] in held else b"", after)


# The semantic patch (SmPL).


def semantic_patch(rules: MemberRules, uses: Sequence[PointerUse], caches: Sequence[str]) -> str:
    """The rules for the ``uses``, in the order in which they must be applied; the slab ``caches`` go."""
    roles = {use.role for use in uses}
    made = [use for use in uses if use.role is Role.ALLOCATION]
    checks: tuple[str, ...] = ()
    if Role.ALLOCATION_CHECK in roles:
        plain = rules.rule("checked", ("- if (($) == NULL) S", "- if (unlikely(($) == NULL)) S"))
        checks = plain, rules.rule("checked_with_others", ("- ($) == NULL || V\n+ V", "- V || ($) == NULL\n+ V"))
    written = (*_allocations(rules, made), *checks, *_releases(rules, uses), *_caches(caches))
    return "\n".join((*written, *_values(rules, roles, cleared=any(use.clears for use in made))))


def _called(functions: Sequence[str], rest: str) -> str:
    choice = "\\|".join(functions)
    return f"\\({choice}\\)({rest})" if len(functions) > 1 else f"{choice}({rest})"


def _allocations(rules: MemberRules, made: Sequence[PointerUse]) -> Iterator[str]:
    """The allocation goes; where the object was zero, it is set to zero."""
    cleared = {use.callee for use in made if use.clears}
    kinds = (("raw", {use.callee for use in made} - cleared, ""), ("cleared", cleared, "\n+ memset(&$, 0, sizeof($));"))
    for kind, callees, added in kinds:
        if callees:
            call = f"(T){_called(sorted(callees), '...')}"
            yield rules.rule(f"allocated_and_tested_{kind}", (f"- if (($ = {call}) == NULL) S{added}",))
            yield rules.rule(f"allocated_{kind}", (f"- $ = {call};{added}",))


def _releases(rules: MemberRules, uses: Sequence[PointerUse]) -> Iterator[str]:
    calls = sorted({use.callee for use in uses if use.role is Role.RELEASE})
    release = f"{_called(calls, '..., $')};" if calls else ""
    forgotten = "$ = NULL;"
    if any(use.role is Role.RELEASE_CHECK for use in uses):
        branches = [f"{{ {release} {forgotten} }}", release, forgotten] if calls else [forgotten]
        yield rules.rule("released_if_any", [f"- if (($) != NULL) {branch}" for branch in branches])
    if calls:
        yield rules.rule("released", (f"- {release}",))
    if any(use.role is Role.CLEARED for use in uses):
        yield rules.rule("forgotten", (f"- {forgotten}",))


def _caches(caches: Sequence[str]) -> Iterator[str]:
    creators = _called(CACHE_CREATORS, "...")
    for number, cache in enumerate(caches, start=1):
        suffix = str(number) if len(caches) > 1 else ""
        yield f"@ cache_created{suffix} @\n@@\n- {cache} = {creators};\n"
        yield f"@ cache_checked{suffix} @\nstatement branch;\n@@\n- if ({cache} == NULL) branch\n"
        yield f"@ cache_destroyed{suffix} @\n@@\n- kmem_cache_destroy({cache});\n"
        yield f"@ cache_declared{suffix} @\n@@\n- static struct kmem_cache *{cache};\n"


def _values(rules: MemberRules, roles: Collection[Role], *, cleared: bool) -> Iterator[str]:
    """The object or its address in place of the pointer; ``cleared`` tells that an earlier rule has put memset() in."""
    if Role.VALUE in roles:
        stays = (" $@p->f", " *$@p", *((" &$@p", " sizeof($@p)") if cleared else ()))
        yield rules.rule("kept", stays)
        yield rules.rule("value", ("- $@p\n+ &$",), " != kept.p")
    if Role.OBJECT in roles:
        yield rules.rule("object_itself", ("- *$\n+ $",))
    if Role.MEMBER in roles:
        yield rules.rule("member_of_object", ("- $->f\n+ $.f",))
