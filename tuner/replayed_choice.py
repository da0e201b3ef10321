# SPDX-License-Identifier: GPL-2.0-or-later
"""Which candidate to recommend once they were replayed on a trace: counted misses replace the estimate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, SimulatedLines, Simulation
from linesmith.analyzer.model.candidate_name import candidate_name
from linesmith.tuner.merit import MOST_FOR_GROWING, WORTH_A_MOVE, WORTH_GROWING
from linesmith.tuner.suggestions import Suggestion


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A candidate by its number, with its misses at the usual line."""

    number: int
    candidate: Candidate
    lines: SimulatedLines

    @property
    def fewer(self) -> bool:
        """Whether the misses are fewer, whichever part of the trace one looks at."""
        return self.lines.change < 0 and self.lines.interval.high < 0

    @property
    def price(self) -> float:
        """Misses as a share of those now, with what churn and growth must earn; doing nothing has 1."""
        before, after = self.candidate.before.size, self.candidate.after.size
        grown = min((after - before) / before + (WORTH_GROWING if after > before else 0.0), MOST_FOR_GROWING)
        return 1 + self.lines.change + WORTH_A_MOVE * self.candidate.churn.members + grown


def replayed_choice(answers: Sequence[Suggestion], simulations: Mapping[int, Simulation]) -> tuple[Suggestion, ...]:
    """The answers, each with the candidate recommended that the replay speaks for; numbers and order stay.

    ``simulations`` are by number, from 1 through all answers. An answer of which nothing could be replayed stays.
    """
    return tuple(_chosen(answers, simulations))


def _chosen(answers: Sequence[Suggestion], simulations: Mapping[int, Simulation]) -> Iterator[Suggestion]:
    first = 1
    for answer in answers:
        numbered = enumerate(answer.candidates, start=first)
        found = [
            _Replayed(number, one, lines) for number, one in numbered if (lines := _lines(simulations.get(number)))
        ]
        yield _anew(answer, found, first) if found else answer
        first += len(answer.candidates)


def _lines(simulation: Simulation | None) -> SimulatedLines | None:
    """The misses at the usual line, in as many phases as were looked at; none where there was nothing to replay."""
    found = [one for one in simulation.lines if one.line_bytes == CACHE_LINE_BYTES] if simulation else []
    widest = max(found, key=lambda one: one.phases, default=None)
    return widest if widest and widest.before.total else None


def _anew(answer: Suggestion, found: Sequence[_Replayed], first: int) -> Suggestion:
    worth = [one for one in found if one.fewer and one.price < 1]
    best = min(worth, key=lambda one: (one.price, one.number), default=None)
    marked = tuple(
        replace(one, recommended=_reason(best, answer, first) if best and best.number == number else "")
        for number, one in enumerate(answer.candidates, start=first)
    )
    return replace(answer, candidates=marked, declined="" if best else _declined(found))


def _reason(best: _Replayed, answer: Suggestion, first: int) -> str:
    """Why, and whether the estimate would have chosen another."""
    numbered = enumerate(answer.candidates, start=first)
    estimated = next((one for number, one in numbered if one.recommended and number != best.number), None)
    other = f"; by the samples alone it would be candidate {candidate_name(estimated)}" if estimated else ""
    members = best.candidate.churn.members
    moved = f"{members} member{'s' if members != 1 else ''} {'move' if members != 1 else 'moves'}"
    return f"Replayed on the trace it {_saved(best)}: {moved}{other}."


def _saved(one: _Replayed) -> str:
    misses = one.lines.before.total - one.lines.after.total
    return f"takes away {misses:,} of {one.lines.before.total:,} misses ({one.lines.change:+.1%})"


def _declined(found: Sequence[_Replayed]) -> str:
    best = min(found, key=lambda one: one.lines.change)
    if best.lines.change >= 0:
        return "Nothing is recommended: replayed on the trace, no candidate has fewer misses than the layout as it is."
    low, high = best.lines.interval.low, best.lines.interval.high
    why = "too little for what it takes" if best.fewer else f"resampled {low:+.1%} to {high:+.1%}"
    return f"Nothing is recommended: replayed on the trace, the best candidate {_saved(best)}, {why}."
