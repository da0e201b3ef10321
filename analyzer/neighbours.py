# SPDX-License-Identifier: GPL-2.0-or-later
"""What lines close by say for or against an object that reaches so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.evidence import Evidence
from linesmith.analyzer.hypotheses import Hypothesis, Proposer, prior
from linesmith.analyzer.likelihood import UNEXPLAINED_LEAF, Clue, clues_of, probability
from linesmith.analyzer.model import SharedLine
from linesmith.analyzer.slab import SlabStarts

# Lines of one report this close (bytes) may belong to one object.
NEIGHBOURHOOD = 4096
# How many explanations of a line are looked at more closely.
EXAMINED = 8


@dataclass(frozen=True, slots=True)
class Alone:
    """How well the clues of a line are explained by the best object that lies there by itself.

    ``gains`` are log likelihoods, one for each clue; ``prior`` is that of the object.
    """

    clues: tuple[Clue, ...]
    gains: tuple[float, ...]
    prior: float


class Neighbourhood:
    """The lines of one report by address; each is explained once, when a line close by asks for it."""

    def __init__(
        self,
        lines: Iterable[SharedLine],
        evidence: Evidence,
        containment: Containment,
        starts: SlabStarts | None = None,
    ) -> None:
        """``starts`` is what slabs leave possible on these lines, where that is known."""
        self.starts = starts
        self._lines = {line.address: line for line in lines if line.address is not None}
        self._evidence = evidence
        self._containment = containment
        self.proposer = Proposer(containment)
        self._explained: dict[int, Alone] = {}

    def support(self, one: Hypothesis, line: SharedLine) -> float:
        """What the lines around ``line`` say for an object that covers them, against objects of their own."""
        if line.address is None:
            return 0.0
        end = one.start + self._containment.layouts.by_id(one.layout).size
        reach = range(max(one.start, -NEIGHBOURHOOD), min(end, NEIGHBOURHOOD + line.bytes))
        near = ((other - line.address, other) for other in self._lines if other != line.address)
        covered = ((way, other) for way, other in near if way < reach.stop and way + line.bytes > reach.start)
        return sum(_support(one, way, end, self._alone(other), self._containment) for way, other in covered)

    def _alone(self, address: int) -> Alone:
        if address not in self._explained:
            line = self._lines[address]
            self._explained[address] = _alone(line, clues_of(line.accesses, self._evidence), self.proposer, self.starts)
        return self._explained[address]


def _alone(line: SharedLine, clues: tuple[Clue, ...], proposer: Proposer, starts: SlabStarts | None) -> Alone:
    best = Alone(clues, (0.0,) * len(clues), 0.0)
    for one in proposer.best(clues, line.bytes, EXAMINED):
        each = tuple(_gain(clue, 0, one, proposer.containment) for clue in clues)
        tried = Alone(clues, each, prior(one, line, proposer.containment, starts))
        best = max(best, tried, key=lambda it: it.prior + sum(it.gains))
    return best


def _support(one: Hypothesis, way: int, end: int, alone: Alone, containment: Containment) -> float:
    """Of a line that lies ``way`` bytes on; ``end`` is the first byte behind the object."""
    pairs = zip(alone.clues, alone.gains, strict=True)
    covered = [(clue, gain) for clue, gain in pairs if one.start <= clue.offset + way < end]
    together = sum(_gain(clue, way, one, containment) - gain for clue, gain in covered)
    return together - alone.prior if covered else 0.0


def _gain(clue: Clue, way: int, one: Hypothesis, containment: Containment) -> float:
    """The log likelihood of a clue on a line ``way`` bytes on, beside that of a leaf without a reason."""
    likelihood, _ = probability(clue, one.layout, clue.offset + way - one.start, containment)
    return clue.weight * log(likelihood / UNEXPLAINED_LEAF)
