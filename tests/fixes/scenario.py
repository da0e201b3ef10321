# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios: who accesses which members how often, and what a person changed (docs/change-results.md)."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path

import msgspec

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
    def every(self) -> tuple[Touch, ...]:
        """All accesses, those of waiting included."""
        return self.does + self.waits


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
