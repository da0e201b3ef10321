# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged debug information that nests parts without names so that their members grow without bound."""

from __future__ import annotations

from hand_made import held, scalar, struct, table

from linesmith.analyzer.geometry import asked_alignments, asked_at_least
from linesmith.analyzer.geometry.naming import MOST_MEMBERS
from linesmith.analyzer.model import Layout


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
