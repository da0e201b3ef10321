# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged debug information that nests parts without names so that their members grow without bound."""

from __future__ import annotations

from hand_made import held, scalar, struct, table, union
from rule_cases import side

from linesmith.analyzer.geometry import asked_alignments, asked_at_least
from linesmith.analyzer.geometry.naming import MOST_MEMBERS
from linesmith.analyzer.geometry.part_move import moves
from linesmith.analyzer.model import Layout
from linesmith.analyzer.rules.holders import holders
from linesmith.analyzer.rules.watched import held_locks


def doubled(levels: int) -> tuple[Layout, ...]:
    """A record with two parts that have two parts each, and so on."""
    layouts = [struct("", scalar("x"))]
    for _ in range(levels):
        layouts.append(struct("", held("", layouts[-1]), held("", layouts[-1])))
    return tuple(layouts)


def test_alignments_are_looked_for_in_a_bounded_number_of_members() -> None:
    layouts = doubled(40)
    assert sum(1 for _ in asked_alignments(layouts[-1], table(*layouts))) == MOST_MEMBERS + 1


def test_parts_that_state_no_alignment_are_looked_at_once() -> None:
    layouts = doubled(80)
    assert asked_at_least(64, layouts[-1], table(*layouts)) == []


def test_moves_are_looked_for_in_a_bounded_number_of_parts() -> None:
    layouts = doubled(40)
    assert list(moves(layouts[-1], table(*layouts))) == []


def test_locks_are_looked_for_in_a_bounded_number_of_records() -> None:
    mutex = struct("mutex", scalar("owner"), scalar("waiters", 16))
    layouts = [struct("inner", held("lock", mutex))]
    for level in range(20):
        layouts.append(struct(f"level{level}", held("one", layouts[-1]), held("two", layouts[-1])))
    found = list(held_locks(layouts[-1], table(mutex, *layouts)))
    assert all(record.name == "inner" for _, record in found)
    assert len(found) < 1 << 16


def test_the_way_to_a_record_through_unions_is_looked_for_once_in_each() -> None:
    record = struct("subject", scalar("hot"))
    layouts = [record]
    for level in range(14):
        either = union(f"level{level}", held("one", layouts[-1]), held("two", layouts[-1]))
        layouts.append(either)
    assert sorted(one.record.name for one in holders(record, side(*layouts))) == sorted(one.name for one in layouts[1:])
