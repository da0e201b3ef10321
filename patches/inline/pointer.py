# SPDX-License-Identifier: GPL-2.0-or-later
"""The member that points to an object, the record with the object in its place, and the semantic patch for its users.

A rule is written only where a use asks for it, so that what is printed is short enough to be read and edited.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.uses import CACHE_CREATORS, PointerUse, Role
from linesmith.patches.source.atoms import line_number, scope
from linesmith.patches.source.body import all_members
from linesmith.patches.source.declaration import Declared
from linesmith.patches.source.macros import without_comments, without_directives
from linesmith.patches.source.pieces import followed
from linesmith.patches.treewide.rules import MemberRules
from linesmith.patches.treewide.syntax import enclosing, member_declarations

_ANNOTATIONS = re.compile(rb"\b__(?:rcu|percpu|user|iomem|private|kptr|kptr_untrusted|uptr|arena)\b")
_PLAIN = re.compile(rb"((?:struct\s+)?[A-Za-z_]\w*)\s*\*\s*([A-Za-z_]\w*)\s*;\Z")
_NO_RECORD = frozenset(("void", "char", "int", "long", "short", "unsigned", "bool", "float", "double", "signed"))
_INTEGER = re.compile(r"(?:__)?(?:u|s|le|be|uint|int)\d+(?:_t)?\Z")
_DIRECTIVE = re.compile(rb"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:\\\r?\n|[^\n])*\n?", re.MULTILINE)
_COMMENT_ABOVE_MEMBER = re.compile(
    rb"(?:^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\r?\n|^[ \t]*//[^\n]*\n)+\Z", re.MULTILINE | re.DOTALL
)
_MOST_OF_A_COMMENT = 8192
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
    return PointerMember(outer, name, target, start, end, (outer.record.title,), (target,))


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


def _conditionals(pointer: PointerMember) -> list[tuple[bytes, bool]]:
    """The ``#if`` lines open at the pointer, outermost first, and whether it stands behind an ``#else`` of each."""
    source, found = pointer.outer.source, list[tuple[bytes, bool]]()
    for match in _DIRECTIVE.finditer(without_comments(source), pointer.outer.record.opening, pointer.start):
        if match[1].startswith(b"if"):
            found.append((source[match.start() : match.end()], False))
        elif match[1] == b"endif":
            found.pop()
        else:
            found[-1] = found[-1][0], True
    return found


def with_object(pointer: PointerMember, attribute: str) -> bytes:
    """The file with the object as the last member of the record, aligned by ``attribute`` (empty: not at all).

    The comments of the pointer, its entry in kernel-doc and the conditionals around it go along. It stays where the
    pointer was when the record must end with another member, or when an ``#else`` decides which of two there is.
    """
    source = pointer.outer.source
    enclosing_ifs = _conditionals(pointer)
    declared = f"{pointer.target} {pointer.name}{' ' * bool(attribute)}{attribute};".encode()
    if not _can_be_last(pointer) or any(alternative for _, alternative in enclosing_ifs):
        return source[: pointer.start] + declared + source[pointer.end :]
    # The whole lines of the declaration, with the comments right above and on its line.
    start = commented_start(source, pointer.start, pointer.outer.record.opening)
    comment = _COMMENT_BEHIND.match(source, pointer.end)
    end = comment.end() if comment else pointer.end
    moved = source[start : pointer.start] + declared + source[pointer.end : end]
    block = b"".join(opening for opening, _ in enclosing_ifs) + moved + b"#endif\n" * len(enclosing_ifs)
    brace = source.rfind(b"\n", 0, pointer.outer.record.closing) + 1
    rest = source[:start] + source[end:brace]
    after = without_emptied(source, rest + block + source[brace:])
    # The member's entry of the kernel-doc comment goes as far down.
    record = pointer.outer.record
    members = all_members(scope(source, record)[0])
    return followed(after, record, members, (*(name for name in members if name != pointer.name), pointer.name))


def commented_start(source: bytes, offset: int, least: int = 0) -> int:
    """Where the line of ``offset`` begins, with the comments right above it that are behind ``least``."""
    start = source.rfind(b"\n", 0, offset) + 1
    # The regular expression tries each line.
    least = max(least, start - _MOST_OF_A_COMMENT)
    above = _COMMENT_ABOVE_MEMBER.search(source, least, start)
    return above.start() if above else start


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


# What statements leave behind when they go: conditionals that hold nothing.

_EMPTY = re.compile(
    rb"^[ \t]*\#[ \t]*if(?:def|ndef)?\b[^\n]*\n(?:[ \t]*\r?\n)*[ \t]*\#[ \t]*endif\b[^\n]*\n", re.MULTILINE
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
        plain = rules.rule("checked", ("- if ($ == NULL) S", "- if (unlikely($ == NULL)) S"))
        checks = plain, rules.rule("checked_with_others", ("- $ == NULL || V\n+ V", "- V || $ == NULL\n+ V"))
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
        yield rules.rule("released_if_any", [f"- if ($ != NULL) {branch}" for branch in branches])
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
