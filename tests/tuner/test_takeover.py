# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording blames a miss on the last store before it: another to the same line would have taken the line, too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, hot, scalar, struct, table

from linesmith.analyzer.model import (
    Bounds,
    ConflictPair,
    Finding,
    Layout,
    LineCost,
    LineMember,
    MemberFunction,
    SharingCost,
    Side,
)
from linesmith.tuner.candidates import propose
from linesmith.tuner.cost.saving import saving
from linesmith.tuner.subject import Subject, subject

# What lookups read, the lock that inserts take, and the count that they write before they release it.
READ, LOCK, COUNT = range(3)
NOW = [0, 8, 16, 24]
LOCK_AWAY, BOTH_AWAY, COUNT_AWAY = [0, 64, 8, 16], [0, 64, 72, 8], [0, 8, 64, 16]


def flows() -> Layout:
    """Three members on one line, and 104 bytes that nobody was seen to touch."""
    return struct("flows", scalar("seed"), scalar("lock"), scalar("count"), scalar("rest", 104))


def by(function: str, cpus: int, member: LineMember) -> LineMember:
    """The member as this function was seen on it."""
    seen = member.functions[0]
    return replace(member, functions=(MemberFunction(function, seen.contended, seen.stores, cpus=cpus),))


def recorded(layout: Layout, counted: int, counter: str = "insert", readers: int = 4) -> Finding:
    """300 misses, all blamed on the last store of an insertion; before it the count was stored ``counted`` times."""
    seen = [
        by("find", readers, hot("seed", 0, 8, reads=300)),
        by("insert", 1, hot("lock", 8, 8, writes=500)),
        by(counter, 1, hot("count", 16, 8, writes=counted)),
    ]
    misses = Bounds(300, 300)
    sharing = SharingCost(Side("seed", 300, 0), Side("lock", 0, 500), misses, misses.times(120))
    cost = LineCost(300, 36_000, sharings=(sharing,), removable=misses, exact=True)
    return replace(finding(layout, seen, [ConflictPair("seed", "lock", "lock", 300)]), cost=cost)


def target(counted: int, counter: str = "insert", readers: int = 4) -> Subject:
    layout = flows()
    return subject(recorded(layout, counted, counter, readers), table(layout))


def likely(of: Subject, starts: list[int]) -> float:
    return saving(of, starts, 128, 8).likely


def test_a_member_that_is_stored_in_the_same_stretches_takes_over_what_the_lock_did() -> None:
    often = target(counted=100)
    assert likely(often, LOCK_AWAY) == 0
    assert saving(often, LOCK_AWAY, 128, 8).contended.least < 0
    assert likely(often, BOTH_AWAY) == pytest.approx(300)


def test_each_store_takes_the_line_once_from_each_cpu_that_reads_it() -> None:
    seldom = target(counted=5)
    assert likely(seldom, LOCK_AWAY) == pytest.approx(300 - 5 * 4)
    limits = saving(seldom, LOCK_AWAY, 128, 8)
    assert limits.contended.least <= 280 - limits.noise
    assert limits.contended.most == 300


def test_what_no_miss_is_blamed_on_saves_nothing_when_it_leaves() -> None:
    assert likely(target(counted=100), COUNT_AWAY) == 0


def test_a_cpu_takes_no_line_from_itself() -> None:
    assert likely(target(counted=100, counter="find", readers=1), LOCK_AWAY) == pytest.approx(300)


def test_a_candidate_takes_away_the_lock_and_the_count_together() -> None:
    layout = flows()
    found = propose(recorded(layout, 100), table(layout))
    assert found
    for one in found:
        offsets = {member.name: member.offset for member in one.after.members}
        assert abs(offsets["lock"] - offsets["seed"]) >= 56
        assert abs(offsets["count"] - offsets["seed"]) >= 56
    assert ["align lock"] in [[f"{move.kind.value} {move.member}" for move in one.moves] for one in found]
