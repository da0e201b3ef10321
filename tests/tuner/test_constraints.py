# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout alone forbids: which members move as one, and which stay where they are."""

from __future__ import annotations

from dataclasses import replace

from hand_made import bits, flexible, held, scalar, struct, table, union

from linesmith.analyzer.geometry.atoms import atoms, visible_places
from linesmith.analyzer.model import Layout, Member
from linesmith.tuner.constraints import ConstraintKind, Freedom, freedom

A, B, C = scalar("a"), scalar("b"), scalar("c")


def marker(name: str) -> Member:
    return replace(scalar(name, 1), size=0, dimensions=(0,))


def names(layout: Layout, *inner: Layout) -> list[tuple[str, ...]]:
    return [tuple(member.name for member in atom.members) for atom in atoms(layout, table(layout, *inner))]


def limits(layout: Layout, *inner: Layout) -> Freedom:
    layouts = table(layout, *inner)
    return freedom(layout, atoms(layout, layouts), layouts)


def kinds(found: Freedom) -> list[tuple[str, ConstraintKind]]:
    return [(one.member, one.kind) for one in found.constraints]


def test_each_member_is_an_atom() -> None:
    assert names(struct("s", A, B, C)) == [("a",), ("b",), ("c",)]


def test_two_runs_of_bit_fields_do_not_come_side_by_side() -> None:
    layout = struct("s", A, bits("x", 3), B, bits("y", 4), C)
    free = freedom(layout, atoms(layout, table(layout)), table(layout))
    forbidden = free.refuses((0, 2, 1, 3, 4), (0,) * 5, layout.size)
    assert forbidden is not None
    assert str(forbidden).startswith(
        "x stays apart from other bit-fields: beside other bit-fields it would share memory"
    )
    assert free.refuses((0, 1, 2, 4, 3), (0,) * 5, layout.size) is None


def test_a_run_of_bit_fields_is_one_atom() -> None:
    layout = struct("s", A, bits("x", 3), bits("y", 4), B, bits("z", 1))
    assert names(layout) == [("a",), ("x", "y"), ("b",), ("z",)]


def test_a_cacheline_group_is_one_atom() -> None:
    begin, end = marker("__cacheline_group_begin__rx"), marker("__cacheline_group_end__rx")
    layout = struct("s", A, begin, B, C, end, scalar("d"))
    assert names(layout) == [("a",), (begin.name, "b", "c", end.name), ("d",)]


def test_the_pad_of_an_aligned_group_belongs_to_it() -> None:
    begin, end = marker("__cacheline_group_begin__rx"), marker("__cacheline_group_end__rx")
    pad = marker("__cacheline_group_pad__rx")
    assert names(struct("s", begin, A, end, pad, B)) == [(begin.name, "a", end.name, pad.name), ("b",)]


def test_an_anonymous_union_goes_by_the_first_name_inside_it() -> None:
    inner = union("", A, B)
    layout = struct("s", C, held("", inner))
    assert [atom.name for atom in atoms(layout, table(layout, inner))] == ["c", "a"]


def test_names_inside_anonymous_records_have_places_in_the_outer_member() -> None:
    pair = struct("", A, B)
    either = union("", held("", pair), scalar("whole", 16))
    layout = struct("s", C, held("", either))
    places = visible_places(layout, table(layout, either, pair))
    assert {name: (place.member, place.start, place.size) for name, place in places.items()} == {
        "c": (0, 0, 8),
        "a": (1, 0, 8),
        "b": (1, 8, 8),
        "whole": (1, 0, 16),
    }


def test_without_constraints_every_place_is_open() -> None:
    found = limits(struct("s", A, B, C))
    assert [list(found.places(atom)) for atom in range(3)] == [[0, 1, 2]] * 3


def test_an_embedded_record_stays_first_for_code_may_cast_to_it() -> None:
    base = struct("base", scalar("x"), scalar("y"))
    found = limits(struct("s", held("base", base), A, B), base)
    assert list(found.places(0)) == [0]
    assert list(found.places(1)) == [1, 2]
    assert kinds(found) == [("base", ConstraintKind.FIRST)]


def test_a_counter_in_front_may_move_though_it_is_a_record() -> None:
    atomic = struct("atomic_t", scalar("counter", 4))
    assert kinds(limits(struct("s", held("refs", atomic), A), atomic)) == []


def test_a_first_pointer_may_move() -> None:
    assert kinds(limits(struct("s", A, B))) == []


def test_a_flexible_array_stays_last() -> None:
    found = limits(struct("s", A, B, flexible("rest")))
    assert [list(found.places(atom)) for atom in range(3)] == [[0, 1], [0, 1], [2]]
    assert kinds(found) == [("rest", ConstraintKind.LAST)]


def test_a_record_that_ends_in_a_flexible_array_stays_last() -> None:
    inner = struct("inner", A, flexible("rest"))
    assert kinds(limits(struct("s", B, held("inside", inner)), inner)) == [("inside", ConstraintKind.LAST)]


def test_a_last_array_of_one_stays_last_for_it_is_often_longer() -> None:
    assert kinds(limits(struct("s", A, scalar("tail", 8, dimensions=(1,))))) == [("tail", ConstraintKind.LAST)]


def test_nothing_crosses_a_marker() -> None:
    found = limits(struct("s", A, B, marker("begin_copy"), C, scalar("d")))
    assert list(found.places(0)) == [0, 1]
    assert list(found.places(2)) == [2]
    assert list(found.places(4)) == [3, 4]


def test_nothing_crosses_a_padding_that_somebody_put_there() -> None:
    pad = struct("memcg_padding", align=64)
    found = limits(struct("s", A, held("_pad1_", pad), B, C), pad)
    assert [list(found.places(atom)) for atom in range(4)] == [[0], [1], [2, 3], [2, 3]]


def test_a_lock_compiled_out_is_no_marker() -> None:
    empty = struct("lockdep_map")
    found = limits(struct("s", A, held("dep_map", empty), B), empty)
    assert list(found.places(0)) == [0, 1, 2]


def test_a_large_explicit_alignment_is_told() -> None:
    assert kinds(limits(struct("s", A, scalar("lock", 4, align=64)))) == [("lock", ConstraintKind.ALIGNED)]


def test_a_constraint_reads_as_a_sentence_and_names_its_source() -> None:
    (found,) = limits(struct("s", A, flexible("rest"))).constraints
    assert str(found) == "rest stays last: a flexible array ends the struct"
    assert found.source == "C11 6.7.2.1p18"
