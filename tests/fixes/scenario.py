# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios: who accesses which members how often, and what a person changed (docs/proposal-results.md)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

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
        """Whether it needs the line for itself."""
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


@dataclass(frozen=True, slots=True)
class Touch:
    """One access by ``function`` to the leaf ``member``, ``often`` times in a turn (below 1: with that probability)."""

    function: str
    kind: Kind
    member: str
    often: float = 1.0


@dataclass(frozen=True, slots=True)
class Role:
    """What ``cpus`` CPUs do over and over (``None``: all of them do it beside what else they do).

    ``share`` weighs it against a CPU's other roles, and against the roles of other CPUs. A turn with a ``lock`` is done
    by one CPU at a time for each object; meanwhile the others that want it do what ``waits`` says, over and over.
    """

    name: str
    touches: tuple[Touch, ...]
    cpus: int | None = None
    object: Object = Object.SAME
    share: float = 1.0
    lock: str = ""
    waits: tuple[Touch, ...] = ()

    @property
    def every(self) -> tuple[Touch, ...]:
        """All accesses, those of waiting included."""
        return self.touches + self.waits


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a person's change: ``members`` go behind ``after`` or in front of ``before``, or to an end.

    ``align`` (bytes) is the new explicit alignment of the first of them. With none of the places they stay.
    """

    members: tuple[str, ...]
    after: str | None = None
    before: str | None = None
    first: bool = False
    last: bool = False
    align: int | None = None

    @property
    def moves(self) -> bool:
        """Whether the members change their place in the declaration."""
        return bool(self.after or self.before or self.first or self.last)


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects that roles reach: ``count`` of those in ``cache``, or one ``offset`` bytes into ``variable``."""

    count: int = 1
    cache: str = ""
    variable: str = ""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A layout fix with the accesses that it was made for; ``release`` names the ELF file (``6.1``).

    ``reports`` are files with ``perf c2c`` reports that people posted of the same trouble, where they are at hand.
    """

    name: str
    commit: str
    subject: str
    release: str
    type: str
    what: str
    roles: tuple[Role, ...]
    human: tuple[Step, ...]
    answer: Answer = Answer.LAYOUT
    advice: str = ""
    source: str = ""
    gain: str = ""
    notes: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    objects: Objects = Objects()

    @property
    def cpus(self) -> int:
        """CPUs that run anything."""
        return sum(role.cpus or 0 for role in self.roles) or 8


def cases(folder: Path = CASES) -> tuple[Scenario, ...]:
    """Every scenario of the folder, by name; raises ``ScenarioError``."""
    return tuple(read_scenario(path) for path in sorted(folder.glob("*.toml")))


def read_scenario(path: Path) -> Scenario:
    """The scenario kept at ``path``; raises ``ScenarioError`` with what is wrong in it."""
    try:
        table = tomllib.loads(path.read_text())
        fix = dict(table.pop("fix"))
        kept: dict[str, Any] = {
            **fix,
            "name": path.stem,
            "objects": table.pop("objects", {}),
            "roles": [_role(dict(one)) for one in table.pop("role")],
            "human": [_step(dict(one)) for one in table.pop("human", [])],
        }
        if table:
            raise ScenarioError(f"{path.name}: there is nothing called {', '.join(table)} in a scenario")
        _refuse_unknown(kept, fix, path)
        scenario = msgspec.convert(kept, Scenario)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, KeyError) as error:
        raise ScenarioError(f"{path.name}: {error}") from None
    if scenario.cpus > MOST_CPUS:
        raise ScenarioError(f"{path.name}: {scenario.cpus} CPUs are more than the {MOST_CPUS} that can be simulated")
    for role in scenario.roles:
        if not any(touch.often > 0 for touch in role.touches):
            raise ScenarioError(f"{path.name}: {role.name} does nothing")
    return scenario


def _refuse_unknown(kept: dict[str, Any], fix: dict[str, Any], path: Path) -> None:
    unknown = set(kept) - set(Scenario.__slots__)
    if unknown:
        raise ScenarioError(f"{path.name}: [fix] has nothing called {', '.join(sorted(unknown & set(fix)))}")


def _role(row: dict[str, Any]) -> dict[str, Any]:
    cpus = row.pop("cpus", "all")
    touches = [_touch(one) for one in row.pop("does")]
    waits = [_touch(one) for one in row.pop("waits", [])]
    return {**row, "cpus": None if cpus == "all" else cpus, "touches": touches, "waits": waits}


def _touch(row: dict[str, Any]) -> dict[str, Any]:
    kinds = [kind for kind in Kind if kind in row]
    if len(kinds) != 1 or set(row) - {*kinds, "in", "often"}:
        raise ScenarioError(f"{row} is no access: it needs `in` and one of load, store, atomic")
    return {"function": row["in"], "kind": kinds[0], "member": row[kinds[0]], "often": float(row.get("often", 1))}


def _step(row: dict[str, Any]) -> dict[str, Any]:
    moved = row.pop("move", None) or row.pop("member", None)
    if not moved:
        raise ScenarioError(f"{row} is no step of a change: it needs `move` or `member`")
    return {**row, "members": [moved] if isinstance(moved, str) else moved}
