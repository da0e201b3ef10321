# SPDX-License-Identifier: GPL-2.0-or-later
"""Who took the line from whom: a recording's conflicts, counted by the members of both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.model import Conflict


@dataclass(frozen=True, slots=True)
class Blame:
    """Misses on ``victim`` because ``writer`` was written; both are names of top members.

    ``misses`` are all of them, ``false`` those in which no byte of the victim's own had been written elsewhere.
    ``shadowed`` counts accesses to the victim that hit only because a miss on another member had just brought the
    line back, ``false_shadowed`` those of them to bytes that nobody had written. The functions are those of the
    heaviest conflict.
    """

    victim: str
    writer: str
    misses: int
    false: int
    shadowed: int
    false_shadowed: int
    victim_function: str
    writer_function: str


def blames(conflicts: Sequence[Conflict], names: Mapping[int, str]) -> tuple[Blame, ...]:
    """Conflicts added up by members, heaviest first; ``names`` gives the top member at an offset in the line."""
    grouped: dict[tuple[str, str], list[Conflict]] = {}
    for one in conflicts:
        key = (_name(one.offset, names), _name(one.writer_offset, names))
        grouped.setdefault(key, []).append(one)
    summed = (_blame(victim, writer, group) for (victim, writer), group in grouped.items())
    return tuple(sorted(summed, key=lambda one: (-one.misses, -one.shadowed, one.victim, one.writer)))


def false_misses(found: Sequence[Blame]) -> Counter[frozenset[str]]:
    """False-sharing misses by the two members that meet, whichever of them suffers; shadowed ones are meant too.

    Whatever a CPU touches first on a line suffers the miss. Were that member elsewhere, the next one would.
    """
    counts: Counter[frozenset[str]] = Counter()
    for one in found:
        if one.victim != one.writer:
            counts[frozenset((one.victim, one.writer))] += one.false + one.false_shadowed
    return counts


def _name(offset: int, names: Mapping[int, str]) -> str:
    return names.get(offset, f"{offset:#x}")


def _blame(victim: str, writer: str, group: Sequence[Conflict]) -> Blame:
    heaviest = max(group, key=lambda one: one.misses + one.shadowed)
    return Blame(
        victim,
        writer,
        sum(one.misses for one in group),
        sum(one.misses for one in group if not one.true_sharing),
        sum(one.shadowed for one in group),
        sum(one.shadowed for one in group if not one.true_sharing),
        heaviest.function or "[unknown]",
        heaviest.writer_function or "[unknown]",
    )
