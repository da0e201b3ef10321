# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report of suggestions is about: lines, what can be done about each, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    Candidate,
    ElfIdentity,
    Finding,
    ReplayedSaving,
    Sharded,
    Simulation,
    SlabMachine,
    StepTable,
    StructuralAdvice,
)
from linesmith.analyzer.model.candidate_name import candidate_name


@dataclass(frozen=True, slots=True)
class Proposed:
    """A hot line with its candidates, or the reason (``refusal``) why there are none.

    ``steps`` are the coherence steps of each candidate; ``declined`` is a sentence on why none of them is recommended.
    ``advice`` is what to change beside the order of members.
    """

    finding: Finding
    candidates: tuple[Candidate, ...] = ()
    steps: tuple[tuple[StepTable, ...], ...] = ()
    refusal: str = ""
    declined: str = ""
    advice: tuple[StructuralAdvice, ...] = ()

    @property
    def recommended(self) -> Candidate | None:
        """The candidate to take, if there is one."""
        return next((one for one in self.candidates if one.recommended), None)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A candidate with its number in the list and what belongs to it.

    ``linesmith patch --candidate`` takes the number, where it is given what the list rests on, or the ``name``.
    """

    number: int
    candidate: Candidate
    line: Proposed
    steps: tuple[StepTable, ...]
    simulation: Simulation | None
    replayed: ReplayedSaving | None = None

    @property
    def name(self) -> str:
        """What it is called in every list that has it."""
        return candidate_name(self.candidate)


@dataclass(frozen=True, slots=True)
class Suggested:
    """Everything that ``suggest`` found, hottest line first.

    ``findings`` are all that the profile gave: other lines may hold members of the same record. ``machine`` is the
    one whose slabs hold the objects, ``None`` for a program. ``simulations`` are by a candidate's number, in
    the order in which to show them; ``replayed`` says how far the predictions are from them.
    """

    elf: ElfIdentity
    source: str
    layouts: Layouts
    lines: tuple[Proposed, ...]
    findings: tuple[Finding, ...] = ()
    machine: SlabMachine | None = None
    simulations: Mapping[int, Simulation] = field(default_factory=dict)
    replayed: Mapping[int, ReplayedSaving] = field(default_factory=dict)
    sharded: Sharded | None = None

    def numbered(self) -> Iterator[Numbered]:
        """All candidates, numbered through."""
        number = 0
        for line in self.lines:
            for place, candidate in enumerate(line.candidates):
                number += 1
                steps = line.steps[place] if line.steps else ()
                simulation, replayed = self.simulations.get(number), self.replayed.get(number)
                yield Numbered(number, candidate, line, steps, simulation, replayed)
