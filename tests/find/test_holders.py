# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that cannot hold a type are passed over without a look at their functions."""

from __future__ import annotations

from hand_made import held, scalar, struct, table

from linesmith.analyzer.attribution.holders import lines_known_to_hold, lines_that_may_hold
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Access, ObjectArea, ObjectKind, Profile, SharedLine

MAPPING = struct("mapping", scalar("tree"), scalar("lock"))
NODE = struct("node", scalar("mode"), held("data", MAPPING))
TASK = struct("task", scalar("state"))
CONTAINMENT = Containment(table(MAPPING, NODE, TASK))


def profile(*types: tuple[str, ...]) -> Profile:
    """Line ``k`` lies in memory of the ``k``-th types."""
    lines = tuple(SharedLine(rank, 64 * rank, (Access(0, "function"),)) for rank in range(len(types)))
    areas = tuple(
        ObjectArea(ObjectKind.SLAB, "cache", 64 * rank, 64, 64, types=names) for rank, names in enumerate(types)
    )
    return Profile("test", "", "hitm", lines, areas=areas)


def kept(wanted: str, given: Profile) -> list[int]:
    return [line.rank for line in lines_that_may_hold(wanted, given, CONTAINMENT)]


def test_the_type_itself_and_what_holds_it_are_kept() -> None:
    assert kept("mapping", profile(("mapping",), ("node",), ("task",))) == [0, 1]


def test_a_part_does_not_hold_the_whole() -> None:
    assert kept("node", profile(("mapping",), ("node",))) == [1]


def test_memory_of_several_types_or_of_unknown_ones_is_looked_at() -> None:
    assert kept("mapping", profile(("task", "node"), (), ("task",))) == [0, 1]


def test_only_memory_that_is_known_tells_who_else_uses_a_record() -> None:
    given = profile(("task", "node"), (), ("mapping",), ("task",))
    assert [line.rank for line in lines_known_to_hold("mapping", given, CONTAINMENT)] == [0, 2]
