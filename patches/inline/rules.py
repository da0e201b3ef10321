# SPDX-License-Identifier: GPL-2.0-or-later
"""The semantic patch (SmPL) that puts an object in the place of the pointer to it.

A rule is written only where a use asks for it, so that what is printed is short enough to be read and edited.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import ALLOCATORS, CACHE_CREATORS, PointerUse, Role
from linesmith.patches.treewide.mentions import any_of, metavariable, pointer_variable, typedef_lines


@dataclass(frozen=True, slots=True)
class _Metavariables:
    """Metavariables, none of them a name that the rules must match literally."""

    pointer: PointerMember
    typed: bool

    def word(self, word: str) -> str:
        """A metavariable's name."""
        taken = (self.pointer.name, self.pointer.record, self.pointer.outer.record.name)
        return f"{word}_" if word in taken else word

    def rule(self, name: str, lines: Callable[[str], str], *declared: str) -> str:
        """A rule that does what ``lines`` says to ``holder->p`` and to ``object.p``.

        The holder is a pointer to the record, the object the record itself; ``declared`` are more metavariables.
        """
        holder, object_, titles = self.word("holder"), self.word("object"), self.pointer.holders
        own: tuple[str, ...] = (f"expression {holder}, {object_};",)
        if self.typed:
            variables = pointer_variable(titles, holder), metavariable(any_of(titles), object_)
            own = (*typedef_lines(titles), *variables)
        head = "\n".join((f"@ {name} @", *own, *declared, "@@"))
        ways = (f"{holder}->{self.pointer.name}", f"{object_}.{self.pointer.name}")
        return head + "\n(\n" + "\n|\n".join(lines(way) for way in ways) + "\n)\n"


def semantic_patch(pointer: PointerMember, uses: Sequence[PointerUse], caches: Sequence[str], *, typed: bool) -> str:
    """The rules for the ``uses``, in the order in which they must be applied; the slab ``caches`` go.

    ``typed`` asks for the holder's type.
    """
    names = _Metavariables(pointer, typed)
    roles = {use.role for use in uses}
    made = {_kind(use) for use in uses if use.role is Role.ALLOCATION}
    parts = [*_allocations(names, uses), *_checks(names, roles), *_releases(names, uses)]
    parts += [*_caches(caches), *_values(names, roles, made)]
    return "\n".join(parts)


def _called(functions: Sequence[str], rest: str) -> str:
    choice = "\\|".join(functions)
    return f"\\({choice}\\)({rest})" if len(functions) > 1 else f"{choice}({rest})"


def _kind(use: PointerUse) -> tuple[bool, bool]:
    """Whether the bytes of a new object are zero, and whether they are those of another object."""
    return use.clears, ALLOCATORS[use.callee].source is not None


def _allocations(names: _Metavariables, uses: Sequence[PointerUse]) -> Iterator[str]:
    made = [use for use in uses if use.role is Role.ALLOCATION]
    cleared = {use.callee for use in made if use.clears}
    for clears in (False, True):
        calls = sorted({use.callee for use in made if (use.callee in cleared, _kind(use)[1]) == (clears, False)})
        if calls:
            yield from _fresh(names, _called(calls, "..."), clears=clears)
    for call in sorted({use.callee for use in made if _kind(use)[1]}):
        yield _copied(names, call)


def _copied(names: _Metavariables, call: str) -> str:
    other = names.word("other")
    edit = f"{call}({'..., ' if ALLOCATORS[call].source else ''}{other}, ...);"
    return names.rule(f"copied_by_{call}", lambda way: f"- {way} = {edit}\n+ {way} = *{other};", f"expression {other};")


def _fresh(names: _Metavariables, call: str, *, clears: bool) -> Iterator[str]:
    kind, branch, cast = "cleared" if clears else "raw", names.word("branch"), names.word("type")
    call = f"({cast}){call}"

    def added(way: str) -> str:
        return f"\n+ memset(&{way}, 0, sizeof({way}));" if clears else ""

    def tested(way: str) -> str:
        return f"- if (({way} = {call}) == NULL) {branch}{added(way)}"

    yield names.rule(f"allocated_and_tested_{kind}", tested, f"type {cast};", f"statement {branch};")
    yield names.rule(f"allocated_{kind}", lambda way: f"- {way} = {call};{added(way)}", f"type {cast};")


def _checks(names: _Metavariables, roles: Collection[Role]) -> Iterator[str]:
    if Role.ALLOCATION_CHECK not in roles:
        return
    branch, other = names.word("branch"), names.word("other")
    yield names.rule(
        "checked",
        lambda way: f"- if ({way} == NULL) {branch}\n|\n- if (unlikely({way} == NULL)) {branch}",
        f"statement {branch};",
    )
    yield names.rule(
        "checked_with_others",
        lambda way: f"- {way} == NULL || {other}\n+ {other}\n|\n- {other} || {way} == NULL\n+ {other}",
        f"expression {other};",
    )


def _releases(names: _Metavariables, uses: Sequence[PointerUse]) -> Iterator[str]:
    calls = sorted({use.callee for use in uses if use.role is Role.RELEASE})
    other = names.word("other")

    def release(way: str) -> str:
        return f"{_called(calls, f'..., {way}')};"

    def guarded(way: str) -> str:
        forgotten = f"{way} = NULL;"
        branches = [f"{{ {release(way)} {forgotten} }}", release(way), forgotten] if calls else [forgotten]
        return "\n|\n".join(f"- if ({way} != NULL) {branch}" for branch in branches)

    if any(use.role is Role.RELEASE_CHECK for use in uses):
        yield names.rule("released_if_any", guarded)
    if any(use.role is Role.RELEASE and use.sole for use in uses):
        yield names.rule(
            "released_under_a_condition", lambda way: f"- if ({other}) {release(way)}", f"expression {other};"
        )
    if calls:
        yield names.rule("released", lambda way: f"- {release(way)}")
    if any(use.role is Role.CLEARED for use in uses):
        yield names.rule("forgotten", lambda way: f"- {way} = NULL;")


def _caches(caches: Sequence[str]) -> Iterator[str]:
    creators = _called(CACHE_CREATORS, "...")
    for number, cache in enumerate(caches, start=1):
        suffix = str(number) if len(caches) > 1 else ""
        yield f"@ cache_created{suffix} @\n@@\n- {cache} = {creators};\n"
        yield f"@ cache_checked{suffix} @\nstatement branch;\n@@\n- if ({cache} == NULL) branch\n"
        yield f"@ cache_destroyed{suffix} @\n@@\n- kmem_cache_destroy({cache});\n"
        yield f"@ cache_declared{suffix} @\n@@\n- static struct kmem_cache *{cache};\n"


def _values(names: _Metavariables, roles: Collection[Role], made: Collection[tuple[bool, bool]]) -> Iterator[str]:
    """The object or its address in place of the pointer."""
    member = names.word("member")
    if Role.VALUE in roles:
        yield from _addresses(names, made)
    if Role.OBJECT in roles:
        yield names.rule("object_itself", lambda way: f"- *{way}\n+ {way}")
    if Role.MEMBER in roles:
        yield names.rule(
            "member_of_object", lambda way: f"- {way}->{member}\n+ {way}.{member}", f"identifier {member};"
        )


def _addresses(names: _Metavariables, made: Collection[tuple[bool, bool]]) -> Iterator[str]:
    """The address in place of the pointer, but for what later rules change and what earlier ones have put there."""
    place, member, other = names.word("place"), names.word("member"), names.word("other")
    copies = any(copies for _, copies in made)

    def unchanged(way: str) -> str:
        ways = [f"{way}@{place}->{member}", f"*{way}@{place}"]
        ways += [f"&{way}@{place}", f"sizeof({way}@{place})"] if (True, False) in made else []
        ways += [f"{way}@{place} = {other}"] if copies else []
        return "\n|\n".join(f" {one}" for one in ways)

    copied = (f"expression {other};",) if copies else ()
    yield names.rule("kept", unchanged, f"identifier {member};", *copied, f"position {place};")
    yield names.rule("value", lambda way: f"- {way}@{place}\n+ &{way}", f"position {place} != kept.{place};")
