# SPDX-License-Identifier: GPL-2.0-or-later
"""Of nested records the one is named that holds what is hot, where no snapshot knows the object either."""

from __future__ import annotations

from hand_made import held, scalar, struct, table

from linesmith.analyzer.attribution.nested import narrowed_all
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Access, LineObject, Outcome, SharedLine

MAPPING = struct("mapping", scalar("mask"), scalar("tree"), scalar("pages", 64))
NODE = struct("node", scalar("mode", 24), held("data", MAPPING))
BIG_LOCK = struct("big_lock", scalar("word"), scalar("owner"), scalar("waiting", 64))
LINK = struct("link", scalar("next"), scalar("previous"))
LOCKED = struct("locked", scalar("mode", 24), held("guard", BIG_LOCK))
SMALL = struct("small", scalar("mode", 24), held("link", LINK))
HOLDERS = tuple(struct(f"inode_{number}", held("inode", NODE)) for number in range(8))
CONTAINMENT = Containment(table(MAPPING, NODE, BIG_LOCK, LINK, LOCKED, SMALL, *HOLDERS))


def found(name: str, *offsets: int, outcome: Outcome = Outcome.RESOLVED, wanted: str | None = None) -> LineObject:
    """The object of a line with accesses at ``offsets`` of a ``name`` that begins with it."""
    line = SharedLine(0, 0x1000, tuple(Access(offset, "function", hitm_local=10) for offset in offsets))
    layout = CONTAINMENT.layouts.variants(name)[0]
    one = LineObject(name, layout.id, 0, 0, 1.0, outcome, 1.0, containers=("outermost",), reason="whose?")
    return narrowed_all((one,), line, CONTAINMENT, wanted)[0]


def test_a_record_that_holds_all_that_is_hot_stands_for_the_one_around_it() -> None:
    one = found("node", 24, 32)
    assert (one.type, one.start, one.phase) == ("mapping", 24, 24)
    assert one.containers == ("node", "outermost")


def test_what_is_hot_beside_it_keeps_the_outer_record() -> None:
    assert found("node", 0, 24, 32).type == "node"


def test_the_outer_record_stands_where_it_was_asked_for() -> None:
    assert found("node", 24, 32, wanted="node").type == "node"


def test_a_lock_and_a_record_within_a_line_are_members() -> None:
    assert found("locked", 24, 32).type == "locked"
    assert found("small", 24, 32).type == "small"


def test_a_part_is_known_where_its_holder_lies_in_many_types() -> None:
    """Nothing tells whose node it is, but that of all records only a node has a mapping."""
    one = found("node", 24, 32, outcome=Outcome.INNER_TYPE_ONLY)
    assert (one.type, one.outcome, one.reason) == ("mapping", Outcome.RESOLVED, "")


def test_an_object_in_doubt_stays_as_it_is() -> None:
    assert found("node", 24, 32, outcome=Outcome.CANNOT_TELL).type == "node"
