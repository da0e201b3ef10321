# SPDX-License-Identifier: GPL-2.0-or-later
"""From members that a change keeps apart to the isolation that is wanted from then on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from linesmith.analyzer.geometry import meeting_phases, named
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Candidate, ConflictPair, Isolation, Layout

# Shares of the object starts are written with two digits, rounded up.
_DIGITS = 100


@dataclass(frozen=True, slots=True)
class Parted:
    """Two members that meet on lines of ``line_bytes`` less than before: in the share ``after`` of all object starts.

    ``first`` is written.
    """

    first: str
    second: str
    line_bytes: int
    after: float


def parted_by(candidate: Candidate, pairs: Iterable[ConflictPair], line_bytes: int) -> tuple[Parted, ...]:
    """Those of the ``pairs`` that the candidate parts on lines of ``line_bytes``, wherever objects are known to lie."""
    found: list[Parted] = []
    kept = [one for one in candidate.residuals if one.line_bytes == line_bytes and one.after < one.before]
    for pair in pairs:
        for one in kept:
            if {one.first, one.second} == {pair.first, pair.second}:
                shares = (
                    proof.share
                    for proof in candidate.proofs
                    if (proof.first, proof.second, proof.line_bytes) == (one.first, one.second, one.line_bytes)
                )
                found.append(Parted(*_writer_first(pair), one.line_bytes, max((one.after, *shares))))
    return tuple(found)


def parted_between(
    before: tuple[Layout, Layouts], after: tuple[Layout, Layouts], pairs: Iterable[ConflictPair], line_bytes: int
) -> tuple[Parted, ...]:
    """Those of the ``pairs`` that meet in fewer phases of one layout than of the other."""
    found: list[Parted] = []
    for pair in pairs:
        then, now = _share(*before, pair, line_bytes), _share(*after, pair, line_bytes)
        if then is not None and now is not None and now < then:
            found.append(Parted(*_writer_first(pair), line_bytes, now))
    return tuple(found)


def isolations(parted: Iterable[Parted]) -> tuple[Isolation, ...]:
    """What is to stay so: one isolation for each written member and share; of a pair parted twice, the weakest."""
    weakest: dict[tuple[str, str, int], float] = {}
    for one in parted:
        key = one.first, one.second, one.line_bytes
        if (one.second, one.first, one.line_bytes) not in weakest:
            weakest[key] = max(one.after, weakest.get(key, 0.0))
    grouped: dict[tuple[str, int, float], list[str]] = {}
    for (first, second, line_bytes), share in weakest.items():
        phases = ceil(share * _DIGITS) / _DIGITS
        if phases < 1:
            grouped.setdefault((first, line_bytes, phases), []).append(second)
    return tuple(Isolation((first,), tuple(others), size, phases) for (first, size, phases), others in grouped.items())


def _writer_first(pair: ConflictPair) -> tuple[str, str]:
    return (pair.first, pair.second) if pair.writer == pair.first else (pair.second, pair.first)


def _share(layout: Layout, layouts: Layouts, pair: ConflictPair, line_bytes: int) -> float | None:
    """In how many of the starts that the record's alignment allows the two meet; ``None`` where one is not there."""
    first, second = named(layout, layouts, pair.first), named(layout, layouts, pair.second)
    if first is None or second is None:
        return None
    granule = max(layout.natural_alignment, layout.alignment or 1)
    return meeting_phases(first.span, second.span, line_bytes, granule)
