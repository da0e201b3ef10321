# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the bytes of an object go when a record inside it changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, held, scalar, struct, table, union

from linesmith.analyzer.errors import NotSimulated
from linesmith.analyzer.geometry.placement import lay_out
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Layout, Member
from linesmith.tuner.relocation import Relocation, relocation


def reordered(layout: Layout, *names: str) -> Layout:
    """The layout with its members in the order of ``names``."""
    by_name = {member.name: member for member in layout.members}
    return lay_out(layout, tuple(by_name[name] for name in names))


def moved(found: Relocation) -> dict[int, tuple[int, int]]:
    """Size and new offset by old offset."""
    return {piece.old: (piece.size, piece.new) for piece in found.pieces}


def relocated(outer: Layout, before: Layout, after: Layout, layouts: LayoutTable) -> dict[int, tuple[int, int]]:
    return moved(relocation(outer, layouts, {before.id: after}))


def test_a_swap_of_two_members() -> None:
    record = struct("s", scalar("a"), scalar("b"), scalar("c"))
    assert relocated(record, record, reordered(record, "c", "b", "a"), table(record)) == {
        0: (8, 16),
        8: (8, 8),
        16: (8, 0),
    }


def test_members_that_stay_together_are_one_piece() -> None:
    record = struct("s", scalar("a"), scalar("b"), scalar("c"))
    assert relocated(record, record, reordered(record, "c", "a", "b"), table(record)) == {0: (16, 8), 16: (8, 0)}


def test_a_hole_goes_with_the_member_before_it() -> None:
    record = struct("s", scalar("a", 4), scalar("b"), scalar("c"))
    assert relocated(record, record, reordered(record, "b", "a", "c"), table(record)) == {
        0: (8, 8),
        8: (8, 0),
        16: (8, 16),
    }


def test_a_record_of_the_same_size_leaves_its_holder_alone() -> None:
    inner = struct("inner", scalar("a"), scalar("b"))
    outer = struct("outer", scalar("before"), held("inner", inner), scalar("behind"))
    found = relocation(outer, table(inner, outer), {inner.id: reordered(inner, "b", "a")})
    assert moved(found) == {0: (8, 0), 8: (8, 16), 16: (8, 8), 24: (8, 24)}
    assert found.fits


def test_a_record_that_grows_pushes_what_follows_it() -> None:
    inner = struct("inner", scalar("a", 4), scalar("b", 4))
    outer = struct("outer", held("inner", inner), scalar("behind"))
    grown = lay_out(inner, (inner.members[0], replace(inner.members[1], alignment=64)))
    found = relocation(outer, table(inner, outer), {inner.id: grown})
    assert moved(found) == {0: (4, 0), 4: (4, 64), 8: (8, 128)}
    assert (found.old_size, found.new_size, found.new_alignment) == (16, 192, 64)
    assert not found.fits


def test_every_element_of_an_array_moves_alike() -> None:
    inner = struct("inner", scalar("a"), scalar("b"))
    row = replace(held("row", inner), dimensions=(3,), size=48)
    outer = struct("outer", row)
    after = reordered(inner, "b", "a")
    assert relocated(outer, inner, after, table(inner, outer)) == {
        start: (8, start + 8 if start % 16 == 0 else start - 8) for start in range(0, 48, 8)
    }


def test_bit_fields_move_by_whole_bytes() -> None:
    record = struct("s", bits("flags", 8), bits("state", 8), scalar("count"))
    assert relocated(record, record, reordered(record, "count", "flags", "state"), table(record)) == {
        0: (8, 8),
        8: (8, 0),
    }


def test_what_holds_no_changed_record_stays() -> None:
    record, other = struct("s", scalar("a"), scalar("b")), struct("o", scalar("x"))
    assert relocation(other, table(record, other), {record.id: reordered(record, "b", "a")}).stays


def test_a_union_grows_with_its_largest_alternative() -> None:
    inner = struct("inner", scalar("a"), scalar("b"))
    either = union("either", held("inner", inner), scalar("word"))
    grown = lay_out(inner, (inner.members[0], replace(inner.members[1], alignment=64)))
    found = relocation(either, table(inner, either), {inner.id: grown})
    assert (found.new_size, found.new_alignment) == (128, 64)


def test_a_packed_holder_cannot_be_laid_out_anew() -> None:
    inner = struct("inner", scalar("a", 4), scalar("b", 4))
    loose = struct("outer", scalar("x", 1), held("inner", inner))
    packed = replace(loose, size=9, members=(loose.members[0], replace(loose.members[1], offset=1)))
    grown = lay_out(inner, (inner.members[0], replace(inner.members[1], alignment=64)))
    with pytest.raises(NotSimulated, match="struct outer cannot be laid out around a member of another size"):
        relocation(packed, table(inner, packed), {inner.id: grown})


def test_members_without_a_name_keep_their_order() -> None:
    first, second = union("", scalar("a"), scalar("b")), union("", scalar("c"), scalar("d"))
    record = struct("s", held("", first), held("", second), scalar("x"))
    members: tuple[Member, ...] = (record.members[2], *record.members[:2])
    assert relocated(record, record, lay_out(record, members), table(record, first, second)) == {
        0: (16, 8),
        16: (8, 0),
    }
