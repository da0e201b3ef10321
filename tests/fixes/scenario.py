# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios: who accesses which members how often, what a person changed, and the layout that this gave a record.

They are described in docs/change-results.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

import msgspec

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import with_inferred_alignment
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.layouts.placement import lay_out, refusal
from linesmith.analyzer.model import Layout, Member, RecordKind

CASES = Path(__file__).parent / "cases"
MOST_CPUS = 64


class ScenarioError(ValueError):
    """A scenario that cannot be read, or does not fit its ELF file; the message is one sentence with the place."""


class Kind(StrEnum):
    """What an access does to memory; ``atomic`` reads and writes in one."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"

    @property
    def writes(self) -> bool:
        return self is not Kind.LOAD


class Object(StrEnum):
    """Which object a role reaches in one turn."""

    SAME = "same"
    ANY = "any"
    OWN = "own"


class Answer(StrEnum):
    """What a good tool says: change the layout, leave it alone, or change more than a layout."""

    LAYOUT = "layout"
    NONE = "none"
    STRUCTURE = "structure"


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a scenario's file."""


class Touch(Row, frozen=True):
    """One access by ``function`` to the leaf ``member``, ``often`` times in a turn (below 1: with that probability)."""

    function: str = msgspec.field(name="in")
    load: str = ""
    store: str = ""
    atomic: str = ""
    often: float = 1.0

    def __post_init__(self) -> None:
        if sum(map(bool, (self.load, self.store, self.atomic))) != 1:
            raise ScenarioError(f"{self.function} makes no access: it needs one of load, store, atomic")

    @property
    def kind(self) -> Kind:
        return Kind.LOAD if self.load else Kind.STORE if self.store else Kind.ATOMIC

    @property
    def member(self) -> str:
        return self.load or self.store or self.atomic


class Role(Row, frozen=True):
    """What ``cpus`` CPUs do over and over (``None``: all of them do it beside what else they do).

    ``share`` weighs it against a CPU's other roles, and against the roles of other CPUs. A turn with a ``lock`` is done
    by one CPU at a time for each object; meanwhile the others that want it do what ``waits`` says, over and over.
    """

    name: str
    does: tuple[Touch, ...]
    cpus: int | None = None
    object: Object = Object.SAME
    share: float = 1.0
    lock: str = ""
    waits: tuple[Touch, ...] = ()

    def __post_init__(self) -> None:
        if not any(touch.often > 0 for touch in self.does):
            raise ScenarioError(f"{self.name} does nothing")

    @property
    def parts(self) -> tuple[tuple[Touch, ...], tuple[Touch, ...], tuple[Touch, ...]]:
        """What is done before the lock is taken, the access that takes it, and what is done under it.

        All is done under it where nobody waits for it, or it is no member of the record.
        """
        taking = (at for at, one in enumerate(self.does) if f"{one.atomic}.".startswith(f"{self.lock}."))
        at = next(taking, None) if self.waits else None
        return ((), (), self.does) if at is None else (self.does[:at], self.does[at : at + 1], self.does[at + 1 :])

    @property
    def taken_late(self) -> tuple[Touch, ...]:
        """How who has waited takes the lock: finds its word free and changes it, in the function that waits."""
        taking = self.parts[1]
        looks = [one for one in self.waits if one.load and taking and one.member == taking[0].member]
        if not looks:
            return taking
        changes = (msgspec.structs.replace(one, function=looks[-1].function) for one in taking)
        return msgspec.structs.replace(looks[-1], often=1.0), *changes

    @property
    def every(self) -> tuple[Touch, ...]:
        """All accesses, those of waiting included."""
        return self.does + self.waits + self.taken_late


class Step(Row, frozen=True):
    """One step of a person's change: members ``move`` behind ``after`` or in front of ``before``, or to an end.

    ``align`` (bytes) is the new explicit alignment of the first of them, or of a ``member`` that stays.
    """

    move: str | tuple[str, ...] = ()
    member: str = ""
    after: str | None = None
    before: str | None = None
    first: bool = False
    last: bool = False
    align: int | None = None

    @property
    def members(self) -> tuple[str, ...]:
        return (self.move,) if isinstance(self.move, str) else self.move or (self.member,)


class Objects(Row, frozen=True):
    """The objects that roles reach: ``count`` of those in ``cache``, or one ``offset`` bytes into ``variable``."""

    count: int = 1
    cache: str = ""
    variable: str = ""
    offset: int = 0


class Scenario(Row, frozen=True):
    """A layout fix with the accesses that it was made for; ``release`` names the ELF file (``6.1``).

    ``reports`` are files with ``perf c2c`` reports that people posted of the same trouble, where they are at hand.
    """

    name: str
    commit: str
    subject: str
    release: str
    type: str
    what: str
    role: tuple[Role, ...]
    human: tuple[Step, ...] = ()
    objects: Objects = Objects()
    answer: Answer = Answer.LAYOUT
    advice: str = ""
    source: str = ""
    gain: str = ""
    notes: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.cpus > MOST_CPUS:
            raise ScenarioError(f"{self.cpus} CPUs are more than the {MOST_CPUS} that can be simulated")

    @property
    def cpus(self) -> int:
        return sum(role.cpus or 0 for role in self.role) or 8


def cases(folder: Path = CASES) -> tuple[Scenario, ...]:
    """Every scenario of the folder, by name; raises ``ScenarioError``."""
    return tuple(read_scenario(path) for path in sorted(folder.glob("*.toml")))


def read_scenario(path: Path) -> Scenario:
    """The scenario kept at ``path``; raises ``ScenarioError`` with what is wrong in it."""
    try:
        table = tomllib.loads(path.read_text())
        return msgspec.convert({**table.pop("fix"), "name": path.stem, **table}, Scenario)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, KeyError) as error:
        raise ScenarioError(f"{path.name}: {error}") from None


class Replaced:
    """The layouts of a file with another one in place of that with the same id."""

    def __init__(self, layouts: Layouts, layout: Layout) -> None:
        self._layouts = layouts
        self._layout = layout

    def by_id(self, layout_id: int) -> Layout:
        """The layout with this id; raises ``KeyError`` when there is none."""
        return self._layout if layout_id == self._layout.id else self._layouts.by_id(layout_id)

    def variants(self, name: str) -> tuple[Layout, ...]:
        return tuple(self.by_id(layout.id) for layout in self._layouts.variants(name))

    def names(self) -> tuple[str, ...]:
        return self._layouts.names()

    def __iter__(self) -> Iterator[Layout]:
        return (self.by_id(layout.id) for layout in self._layouts)


def flattened(layout: Layout, layouts: Layouts) -> Layout:
    """``layout`` with the members of its anonymous structs in their place, where they are now.

    Where such a struct begins or ends at a larger alignment than its members ask for, a member without size keeps it.
    """
    return replace(layout, members=tuple(_members(layout, layouts)))


def _members(layout: Layout, layouts: Layouts) -> Iterator[Member]:
    after = 1
    for member in layout.members:
        inner = _anonymous(member, layouts)
        alignment = 1 if inner is None else max(member.natural_alignment, member.alignment or 1)
        held = [member] if inner is None else [_moved(one, member.offset) for one in _members(inner, layouts)]
        yield from _boundary(held[0], max(after, alignment))
        yield from held
        after = alignment


def _anonymous(member: Member, layouts: Layouts) -> Layout | None:
    if member.name or member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record)
    return inner if inner.kind is RecordKind.STRUCT and inner.members else None


def _moved(member: Member, by: int) -> Member:
    bits = None if member.bit_offset is None else member.bit_offset + 8 * by
    return replace(member, offset=member.offset + by, bit_offset=bits)


def _boundary(member: Member, alignment: int) -> Iterator[Member]:
    """What keeps ``member`` at its place if only the alignment of the struct around it does."""
    natural = max(member.natural_alignment, member.alignment or 1)
    if alignment > natural and member.offset % alignment == 0:
        yield Member("", "boundary", "", member.offset, 0, 1, alignment)


def human_layout(layout: Layout, steps: Sequence[Step], layouts: Layouts) -> Layout:
    """``layout`` without anonymous structs after the steps, placed by C's rules.

    Raises ``ScenarioError`` where a member is not there.
    """
    explained = with_inferred_alignment(flattened(layout, layouts))
    if reason := refusal(explained):
        raise ScenarioError(f"{layout.title} cannot be laid out anew: {reason}")
    order = list(explained.members)
    for step in steps:
        order = _after(step, order, layouts)
    return lay_out(explained, tuple(order))


def _after(step: Step, order: list[Member], layouts: Layouts) -> list[Member]:
    moved = [_called(name, order, layouts) for name in step.members]
    if not step.move:
        return [_aligned(member, step) if member is moved[0] else member for member in order]
    rest = [member for member in order if not any(member is one for one in moved)]
    at = _place(step, rest, layouts)
    return [*rest[:at], _aligned(moved[0], step), *moved[1:], *rest[at:]]


def _aligned(member: Member, step: Step) -> Member:
    return replace(member, alignment=step.align) if step.align else member


def _place(step: Step, rest: Sequence[Member], layouts: Layouts) -> int:
    if step.first:
        return 0
    if step.last:
        return len(rest)
    beside = _called(step.after or step.before or "", rest, layouts)
    at = next(position for position, member in enumerate(rest) if member is beside)
    return at + 1 if step.after else at


def _called(name: str, members: Sequence[Member], layouts: Layouts) -> Member:
    """The member of that name; an anonymous union by any name inside it."""
    for member in members:
        if member.name == name or (not member.name and name in _inside(member, layouts)):
            return member
    raise ScenarioError(f"there is no member {name}; there are {', '.join(one.name for one in members if one.name)}")


def _inside(member: Member, layouts: Layouts) -> set[str]:
    if member.record is None:
        return set()
    return {leaf.path.partition(".")[0].partition("[")[0] for leaf in flatten(layouts.by_id(member.record), layouts)}
