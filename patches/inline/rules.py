# SPDX-License-Identifier: GPL-2.0-or-later
"""The semantic patch (SmPL) that puts an object in the place of the pointer to it.

A rule is written only where a use asks for it, so that what is printed is short enough to be read and edited.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.inline.uses import CACHE_CREATORS, PointerUse, Role
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
    made = [use for use in uses if use.role is Role.ALLOCATION]
    cleared = any(use.clears for use in made)
    rules = (*_allocations(names, made), *_checks(names, roles), *_releases(names, uses), *_caches(caches))
    return "\n".join((*rules, *_values(names, roles, cleared=cleared)))


def _called(functions: Sequence[str], rest: str) -> str:
    choice = "\\|".join(functions)
    return f"\\({choice}\\)({rest})" if len(functions) > 1 else f"{choice}({rest})"


def _allocations(names: _Metavariables, made: Sequence[PointerUse]) -> Iterator[str]:
    cleared = {use.callee for use in made if use.clears}
    for clears, calls in ((False, {use.callee for use in made} - cleared), (True, cleared)):
        if calls:
            yield from _fresh(names, _called(sorted(calls), "..."), clears=clears)


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

    def release(way: str) -> str:
        return f"{_called(calls, f'..., {way}')};"

    def guarded(way: str) -> str:
        forgotten = f"{way} = NULL;"
        branches = [f"{{ {release(way)} {forgotten} }}", release(way), forgotten] if calls else [forgotten]
        return "\n|\n".join(f"- if ({way} != NULL) {branch}" for branch in branches)

    if any(use.role is Role.RELEASE_CHECK for use in uses):
        yield names.rule("released_if_any", guarded)
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


def _values(names: _Metavariables, roles: Collection[Role], *, cleared: bool) -> Iterator[str]:
    """The object or its address in place of the pointer; ``cleared`` tells that an earlier rule has put memset() in."""
    place, member = names.word("place"), names.word("member")

    def unchanged(way: str) -> str:
        ways = [f"{way}@{place}->{member}", f"*{way}@{place}"]
        ways += [f"&{way}@{place}", f"sizeof({way}@{place})"] if cleared else []
        return "\n|\n".join(f" {one}" for one in ways)

    if Role.VALUE in roles:
        yield names.rule("kept", unchanged, f"identifier {member};", f"position {place};")
        yield names.rule("value", lambda way: f"- {way}@{place}\n+ &{way}", f"position {place} != kept.{place};")
    if Role.OBJECT in roles:
        yield names.rule("object_itself", lambda way: f"- *{way}\n+ {way}")
    if Role.MEMBER in roles:
        yield names.rule(
            "member_of_object", lambda way: f"- {way}->{member}\n+ {way}.{member}", f"identifier {member};"
        )
