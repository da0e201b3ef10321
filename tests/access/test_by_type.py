# SPDX-License-Identifier: GPL-2.0-or-later
"""Who touches a type: also by way of outer types, and with accesses that are wider than a member."""

from __future__ import annotations

from access.hand_written import LAYOUTS, LOCK, NODE, OUTER, Code, Row, raw

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_of, touching
from linesmith.analyzer.access.store import build
from linesmith.analyzer.model import AccessCounts, AccessKind, AccessOutcome, Layout

CODE = (Code("reader", 0x100, 0x140), Code("writer", 0x140, 0x180))
HOLE, OUTSIDE = AccessOutcome.HOLE, AccessOutcome.OUTSIDE
Shown = dict[str, tuple[AccessCounts, list[str]]]


def mapped(*rows: Row) -> AccessMap:
    return build(raw(rows, CODE), LAYOUTS)


def members(layout: Layout, accesses: AccessMap) -> Shown:
    found = accesses_of(layout, LAYOUTS, accesses)
    return {one.path: (one.counts, [each.function for each in one.functions]) for one in found.members}


def test_members_with_their_kinds_and_functions() -> None:
    accesses = mapped(
        Row(0x100, 0, 1, 16, 4),
        Row(0x104, 0, 1, 16, 4, AccessKind.READ_WRITE),
        Row(0x140, 1, 1, 16, 4, AccessKind.ATOMIC),
        Row(0x144, 1, 1, 0, 8, AccessKind.WRITE),
    )
    assert members(NODE, accesses) == {
        "next": (AccessCounts(writes=1), ["writer"]),
        "count": (AccessCounts(reads=1, updates=1, atomics=1), ["reader", "writer"]),
    }


def test_what_is_known_as_part_of_an_outer_type_counts_for_the_inner_one() -> None:
    accesses = mapped(Row(0x100, 0, 2, 24, 4), Row(0x104, 0, 1, 16, 4))
    assert members(NODE, accesses) == {"count": (AccessCounts(reads=2), ["reader"])}
    (embedding,) = accesses_of(NODE, LAYOUTS, accesses).embeddings
    assert (embedding.type, embedding.path, embedding.offset, embedding.accesses) == ("struct outer", "node", 8, 1)


def test_a_record_that_is_one_word_is_found_where_it_lies_deep() -> None:
    accesses = mapped(Row(0x100, 0, 2, 16, 4, AccessKind.ATOMIC))
    assert members(LOCK, accesses) == {"word": (AccessCounts(atomics=1), ["reader"])}
    assert [one.path for one in accesses_of(LOCK, LAYOUTS, accesses).embeddings] == ["node.guard"]
    assert list(members(OUTER, accesses)) == ["node.guard"]


def test_a_wide_access_counts_for_every_member_and_once_in_the_sum() -> None:
    accesses = mapped(Row(0x140, 1, 1, 16, 8, AccessKind.WRITE))
    assert list(members(NODE, accesses)) == ["count", "total"]
    assert accesses_of(NODE, LAYOUTS, accesses).counts == AccessCounts(writes=1)
    # From before the inner type it reaches into it; of an unknown width it touches what begins there.
    assert list(members(NODE, mapped(Row(0x140, 1, 2, 0, 16, AccessKind.WRITE)))) == ["next"]
    assert list(members(NODE, mapped(Row(0x100, 0, 1, 16, 0)))) == ["count"]


def test_only_resolved_accesses_to_members_of_the_type_count() -> None:
    hole, outside = (Row(0x100, 0, 1, at, 4, outcome=one) for at, one in ((12, HOLE), (400, OUTSIDE)))
    accesses = mapped(hole, outside)
    assert accesses_of(NODE, LAYOUTS, accesses).counts == AccessCounts()
    assert members(NODE, accesses) == {}
    found = accesses_of(NODE, LAYOUTS, mapped(Row(0x100, 0, 1, 12, 4)))
    assert (found.members, found.elsewhere) == ((), AccessCounts(reads=1))
    # An array of the type is no other type.
    array = mapped(Row(0x100, 0, 3, 4, 4))
    assert [members(layout, array) for layout in (LOCK, NODE, OUTER)] == [{}, {}, {}]


def test_bytes_of_a_member_are_those_of_all_that_lies_in_it() -> None:
    accesses = mapped(Row(0x100, 0, 2, 24, 4), Row(0x140, 1, 2, 16, 4, AccessKind.WRITE))
    touched = touching(OUTER, accesses)
    assert touched(8, 24).counts == AccessCounts(reads=1, writes=1)
    assert (touched(8, 24).readers, touched(8, 24).writers) == (("reader",), ("writer",))
    assert touched(0, 8).counts == AccessCounts()


def test_functions_of_one_name_are_told_as_one() -> None:
    accesses = build(
        raw((Row(0x100, 0, 1), Row(0x140, 1, 1)), (Code("same", 0x100, 0x140), Code("same", 0x140, 0x180))), LAYOUTS
    )
    assert members(NODE, accesses) == {"next": (AccessCounts(reads=2), ["same"])}
