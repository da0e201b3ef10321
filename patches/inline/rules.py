# SPDX-License-Identifier: GPL-2.0-or-later
"""The semantic patch (SmPL) that puts an object in the place of the pointer to it.

A rule is written only where a use asks for it, so that what is printed is short enough to be read and edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from linesmith.patches.inline.pointer import PointerMember, pointer_variable, record_variable, typedefs
from linesmith.patches.inline.syntax import ALLOCATORS, CACHE_CREATORS
from linesmith.patches.inline.uses import Role, Use


@dataclass(frozen=True, slots=True)
class Names:
    """Metavariables, none of them a name that the rules must match literally."""

    pointer: PointerMember
    typed: bool

    def word(self, word: str) -> str:
        """A metavariable's name."""
        taken = (self.pointer.name, self.pointer.record, self.pointer.outer.record.name)
        return f"{word}_" if word in taken else word

    def head(self, rule: str, *declared: str) -> str:
        """The rule's name and its metavariables; the holder is a pointer to the record or the record itself."""
        return "\n".join((f"@ {rule} @", *self._own(), *declared, "@@"))

    def both(self, lines: Callable[[str], str]) -> str:
        """What ``lines`` says of ``holder->p`` and of ``object.p``."""
        ways = (f"{self.word('holder')}->{self.pointer.name}", f"{self.word('object')}.{self.pointer.name}")
        return "(\n" + "\n|\n".join(lines(way) for way in ways) + "\n)\n"

    def _own(self) -> tuple[str, ...]:
        holder, object_, titles = self.word("holder"), self.word("object"), self.pointer.holders
        if not self.typed:
            return (f"expression {holder}, {object_};",)
        return (*typedefs(titles), pointer_variable(titles, holder), record_variable(titles, object_))


@dataclass(frozen=True, slots=True)
class Task:
    """What the rules are for: the ``uses`` of ``pointer``, slab ``caches`` that go, and ``malloc()`` of the record.

    ``typed`` asks for the holder's type; ``malloc`` tells that records come from there and are to be aligned.
    """

    pointer: PointerMember
    uses: Sequence[Use]
    caches: Sequence[str] = ()
    typed: bool = True
    malloc: bool = False


def semantic_patch(task: Task) -> str:
    """The rules in the order in which they must be applied."""
    names, uses = Names(task.pointer, task.typed), task.uses
    roles = {use.role for use in uses}
    parts = [*_allocations(names, uses), *_checks(names, roles), *_releases(names, uses), *_tests(names, roles)]
    parts += [*_caches(task.caches), *(_aligned(names) if task.malloc else ()), *_values(names, uses)]
    return "\n".join(part for part in parts if part)


def _called(functions: Sequence[str], rest: str) -> str:
    chosen = "\\|".join(functions)
    return f"\\({chosen}\\)({rest})" if len(functions) > 1 else f"{chosen}({rest})"


def _allocations(names: Names, uses: Sequence[Use]) -> Iterator[str]:
    made = [use for use in uses if use.role is Role.ALLOCATION]
    cleared = {use.callee for use in made if use.clears}
    for clears in (False, True):
        calls = sorted({use.callee for use in made if (use.callee in cleared, _kind(use)[1]) == (clears, False)})
        if calls:
            yield from _fresh(names, "cleared" if clears else "raw", _called(calls, "..."), clears=clears)
    copies = sorted({use.callee for use in made if _kind(use)[1]})
    for call in copies:
        yield _copied(names, call)


def _kind(use: Use) -> tuple[bool, bool]:
    """Whether the bytes are zero, and whether they are those of another object."""
    return use.clears, ALLOCATORS[use.callee].source is not None


def _fresh(names: Names, kind: str, call: str, *, clears: bool) -> Iterator[str]:
    branch, kind_ = names.word("branch"), names.word("type")
    call = f"({kind_}){call}"

    def added(way: str) -> str:
        return f"\n+ memset(&{way}, 0, sizeof({way}));" if clears else ""

    def tested(way: str) -> str:
        return f"- if (({way} = {call}) == NULL) {branch}{added(way)}"

    cast = f"type {kind_};"
    yield names.head(f"allocated_and_tested_{kind}", cast, f"statement {branch};") + "\n" + names.both(tested)
    yield names.head(f"allocated_{kind}", cast) + "\n" + names.both(lambda way: f"- {way} = {call};{added(way)}")


def _copied(names: Names, call: str) -> str:
    other = names.word("other")
    position = ALLOCATORS[call].source or 0
    rest = ", ".join(("...",) if not position else ("...", other, "..."))
    given = f"{other}, ..." if not position else rest
    head = names.head(f"copied_by_{call}", f"expression {other};")
    return head + "\n" + names.both(lambda way: f"- {way} = {call}({given});\n+ {way} = *{other};")


def _checks(names: Names, roles: set[Role]) -> Iterator[str]:
    if not roles & {Role.ALLOCATION_CHECK, Role.TEST}:
        return
    branch, other = names.word("branch"), names.word("other")
    head = names.head("checked", f"statement {branch};")
    yield (
        head
        + "\n"
        + names.both(lambda way: f"- if ({way} == NULL) {branch}\n|\n- if (unlikely({way} == NULL)) {branch}")
    )
    head = names.head("checked_with_others", f"expression {other};")
    yield head + "\n" + names.both(lambda way: _without(f"{way} == NULL", "||", other))


def _tests(names: Names, roles: set[Role]) -> Iterator[str]:
    """Tests for NULL of a pointer that never is; those in other places are still true as addresses."""
    if Role.TEST not in roles:
        return
    branch, other, another = names.word("branch"), names.word("other"), names.word("another")
    yield f"{names.head('tested_with_others', f'expression {other};')}\n" + names.both(
        lambda way: _without(f"{way} != NULL", "&&", other)
    )
    yield f"{names.head('chosen', f'expression {other}, {another};')}\n" + names.both(
        lambda way: f"- {way} != NULL ? {other} : {another}\n+ {other}"
    )
    yield f"{names.head('with_alternative', f'statement {branch}, {other};')}\n" + names.both(
        lambda way: f"- if ({way} != NULL)\n {branch}\n- else {other}"
    )
    yield f"{names.head('guarded', f'statement {branch};')}\n" + names.both(
        lambda way: f"- if ({way} != NULL)\n {branch}"
    )


def _without(test: str, operator: str, other: str) -> str:
    return f"- {test} {operator} {other}\n+ {other}\n|\n- {other} {operator} {test}\n+ {other}"


def _releases(names: Names, uses: Sequence[Use]) -> Iterator[str]:
    calls = sorted({use.callee for use in uses if use.role is Role.RELEASE})
    release = _called(calls, "...") if calls else ""
    if any(use.role is Role.RELEASE_CHECK for use in uses):
        yield names.head("released_if_any") + "\n" + names.both(lambda way: _guarded(way, calls))
    if any(use.role is Role.RELEASE and use.sole for use in uses):
        other = names.word("other")
        head = names.head("released_under_a_condition", f"expression {other};")
        yield head + "\n" + names.both(lambda way: f"- if ({other}) {_called(calls, f'..., {way}')};")
    if release:
        yield names.head("released") + "\n" + names.both(lambda way: f"- {_called(calls, f'..., {way}')};")
    if any(use.role is Role.CLEARED for use in uses):
        yield names.head("forgotten") + "\n" + names.both(lambda way: f"- {way} = NULL;")


def _guarded(way: str, calls: Sequence[str]) -> str:
    release = f"{_called(calls, f'..., {way}')};" if calls else ""
    forgotten = f"{way} = NULL;"
    branches = [f"{{ {release} {forgotten} }}", release, forgotten] if release else [forgotten]
    return "\n|\n".join(f"- if ({way} != NULL) {branch}" for branch in branches)


def _caches(caches: Sequence[str]) -> Iterator[str]:
    creators = _called(CACHE_CREATORS, "...")
    for number, cache in enumerate(caches, start=1):
        suffix = str(number) if len(caches) > 1 else ""
        yield f"@ cache_created{suffix} @\n@@\n- {cache} = {creators};\n"
        yield f"@ cache_checked{suffix} @\nstatement branch;\n@@\n- if ({cache} == NULL) branch\n"
        yield f"@ cache_destroyed{suffix} @\n@@\n- kmem_cache_destroy({cache});\n"
        yield f"@ cache_declared{suffix} @\n@@\n- static struct kmem_cache *{cache};\n"


def _aligned(names: Names) -> Iterator[str]:
    """The record is aligned as its new member asks; C11 7.22.3.1."""
    size, new, cast, titles = names.word("size"), names.word("new"), names.word("type"), names.pointer.holders
    given = "".join(f"{line}\n" for line in (*typedefs(titles), f"expression {size};", f"type {cast};"))
    call = f"({cast})\n- malloc({size})\n+ aligned_alloc(__alignof__(*{new}), {size})"
    yield f"@ aligned @\n{given}{pointer_variable(titles, new)}\n@@\n {new} = {call}\n"
    for number, title in enumerate(titles, start=1):
        yield f"@ aligned_where_declared{number} @\n{given}identifier {new};\n@@\n {title} *{new} = {call}\n ;\n"


def _values(names: Names, uses: Sequence[Use]) -> Iterator[str]:
    roles = {use.role for use in uses}
    member = names.word("member")
    if roles & {Role.VALUE, Role.TEST}:
        yield from _addresses(names, {_kind(use) for use in uses if use.role is Role.ALLOCATION})
    if Role.OBJECT in roles:
        yield names.head("object_itself") + "\n" + names.both(lambda way: f"- *{way}\n+ {way}")
    if Role.MEMBER in roles:
        head = names.head("member_of_object", f"identifier {member};")
        yield head + "\n" + names.both(lambda way: f"- {way}->{member}\n+ {way}.{member}")


def _addresses(names: Names, made: set[tuple[bool, bool]]) -> Iterator[str]:
    """The address in place of the pointer, but for what later rules change and what earlier ones have put there."""
    place, member, other = names.word("place"), names.word("member"), names.word("other")

    def kept(way: str) -> str:
        ways = [f"{way}@{place}->{member}", f"*{way}@{place}"]
        ways += [f"&{way}@{place}", f"sizeof({way}@{place})"] if (True, False) in made else []
        ways += [f"{way}@{place} = {other}"] if any(copies for _, copies in made) else []
        return "\n|\n".join(f" {one}" for one in ways)

    copied = (f"expression {other};",) if any(copies for _, copies in made) else ()
    yield names.head("kept", f"identifier {member};", *copied, f"position {place};") + "\n" + names.both(kept)
    head = names.head("value", f"position {place} != kept.{place};")
    yield head + "\n" + names.both(lambda way: f"- {way}@{place}\n+ &{way}")
