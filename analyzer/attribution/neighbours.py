# SPDX-License-Identifier: GPL-2.0-or-later
"""What lines close by say for or against an object that reaches so far."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import log

from linesmith.analyzer.attribution.evidence import Evidence
from linesmith.analyzer.attribution.hypotheses import Hypothesis, Proposer, prior
from linesmith.analyzer.attribution.likelihood import UNEXPLAINED_LEAF, Clue, clues_of, probability
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import SharedLine
from linesmith.analyzer.slab import SlabStarts

# Lines of one report this close (bytes) may belong to one object.
NEIGHBOURHOOD = 4096
# How many explanations of a line are looked at more closely.
EXAMINED = 8


@dataclass(frozen=True)
class Alone:
    """How well the clues of a line are explained by the best object that lies there by itself.

    ``gains`` are log likelihoods, one for each clue; ``prior`` is that of the object.
    """

    clues: tuple[Clue, ...]
    gains: tuple[float, ...]
    prior: float

    @cached_property
    def codes(self) -> tuple[tuple[int, int], ...]:
        """Tells the clues' pieces of code apart by what is known of them."""
        return tuple((id(clue.known.records), hash(clue.spots)) for clue in self.clues)


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
        self._addresses = sorted(self._lines)
        self._explained: dict[int, Alone] = {}

    def support(self, one: Hypothesis, line: SharedLine) -> float:
        """What the lines around ``line`` say for an object that covers them, against objects of their own."""
        if line.address is None:
            return 0.0
        end = one.start + self._containment.layouts.by_id(one.layout).size
        reach = range(max(one.start, -NEIGHBOURHOOD), min(end, NEIGHBOURHOOD + line.bytes))
        first = bisect_right(self._addresses, line.address + reach.start - line.bytes)
        covered = self._addresses[first : bisect_left(self._addresses, line.address + reach.stop)]
        told = [
            _told(one, other - line.address, end, self._alone(other), self._containment)
            for other in covered
            if other != line.address
        ]
        return _summed(told)

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


@dataclass(frozen=True, slots=True)
class _Told:
    """What one line says for an object that covers it: by each clue, and because it needs no object of its own."""

    clues: tuple[tuple[tuple[int, int], float], ...]
    prior: float


def _told(one: Hypothesis, way: int, end: int, alone: Alone, containment: Containment) -> _Told:
    """Of a line that lies ``way`` bytes on; ``end`` is the first byte behind the object."""
    known = zip(alone.codes, alone.clues, alone.gains, strict=True)
    covered = [it for it in known if one.start <= it[1].offset + way < end]
    clues = tuple((code, _gain(clue, way, one, containment) - gain) for code, clue, gain in covered)
    return _Told(clues, -alone.prior if clues else 0.0)


def _summed(told: Iterable[_Told]) -> float:
    """One piece of code counts once, however many lines it touched: what is known wrongly of it is so everywhere."""
    by_code: dict[tuple[int, int], list[float]] = {}
    priors = 0.0
    for one in told:
        priors += one.prior
        for code, gain in one.clues:
            by_code.setdefault(code, []).append(gain)
    return priors + sum(sum(gains) / len(gains) for gains in by_code.values())


def _gain(clue: Clue, way: int, one: Hypothesis, containment: Containment) -> float:
    """The log likelihood of a clue on a line ``way`` bytes on, beside that of a leaf without a reason."""
    likelihood, _ = probability(clue, one.layout, clue.offset + way - one.start, containment)
    return clue.weight * log(likelihood / UNEXPLAINED_LEAF)
