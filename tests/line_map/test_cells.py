# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells fill the lines that an object lies on: each byte once, at the place where the compiler put it.

Samples are a record's on every line that holds it, inside others too, but not where it is a guess.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from c_layouts import nested, structs
from hand_made import bits, finding, flexible, held, hot, lock, meeting, scalar, struct, table, union
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.line_map.fields import NO_HEAT, MapHeat, heat_of
from linesmith.analyzer.line_map.record_map import line_map
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    CellKind,
    Layout,
    LineMap,
    LineMember,
    Member,
    Outcome,
    Profile,
    RecordKind,
)

PHASES = st.integers(0, 127)


def cells(drawn: LineMap) -> list[tuple[str, int, int]]:
    """Name (or kind), offset and bytes of every cell."""
    return [(one.path or one.kind.value, one.offset, one.bytes) for line in drawn.lines for one in line.cells]


def heated(layout: Layout, layouts: LayoutTable, *members: LineMember) -> MapHeat:
    return heat_of(layout, layouts, [finding(layout, members)])


def fills(drawn: LineMap, layout: Layout) -> None:
    """Asserts that the cells are the object's bytes, in order, cut where lines end."""
    at = 0
    for number, line in enumerate(drawn.lines):
        assert line.number == number
        for cell in line.cells:
            assert cell.bytes > 0
            assert cell.offset == at
            assert (cell.offset + drawn.phase) // drawn.line_bytes == number
            assert cell.start == (cell.offset + drawn.phase) % drawn.line_bytes
            at += cell.bytes
        assert line.cells[-1].start + line.cells[-1].bytes <= drawn.line_bytes
    assert at == layout.size


@given(structs, PHASES, st.sampled_from((64, 128)))
def test_the_cells_of_any_struct_fill_its_lines(layout: Layout, phase: int, line_bytes: int) -> None:
    fills(line_map(layout, LayoutTable([layout]), NO_HEAT, phase, line_bytes), layout)


@given(nested(), PHASES, st.data())
def test_the_cells_of_nested_records_fill_their_lines(layouts: LayoutTable, phase: int, data: st.DataObject) -> None:
    layout = list(layouts)[-1]
    paths = st.sampled_from([f"{one.name}.m{inner}" for one in layout.members for inner in range(3)])
    spots = st.builds(hot, paths, st.integers(0, max(0, layout.size - 1)), st.just(1), st.just(1))
    seen = data.draw(st.lists(spots, max_size=4))
    heat = heated(layout, layouts, *seen) if seen else NO_HEAT
    drawn = line_map(layout, layouts, heat, phase)
    fills(drawn, layout)
    members = [cell for line in drawn.lines for cell in line.cells if cell.kind is CellKind.MEMBER]
    met = sum(cell.offset <= spot.offset < cell.offset + cell.bytes for cell in members for spot in heat.spots)
    assert sum(cell.heat or 0 for cell in members) == pytest.approx(met / max(1, len(heat.spots)))


BUFFER = ("buffer", "char", "", 72, 640_000)
CHOICE = union("", scalar("mapping"), scalar("compound_head"))
ALONE, NAMED = (struct(name, scalar("saddr"), scalar("daddr")) for name in ("", "tagged"))
GROUP = union("", held("", ALONE), held("group", NAMED))
OVERLAPPING = (Member("a", "long", "a", 0, 8), Member("b", "long", "b", 4, 8), Member("c", "long", "c", 12, 64))
# Name of the case: the record, and what its cells show.
CASES: dict[str, tuple[Layout, str]] = {
    "a hole between members and padding behind the last": (
        struct("s", scalar("a", 4), scalar("b", 8), scalar("c", 4)),
        "a@0+4 hole@4+4 b@8+8 c@16+4 padding@20+4",
    ),
    "bit-fields of one unit share a cell": (
        struct("s", bits("ready", 1), bits("busy", 1), scalar("next", 4)),
        "ready, busy@0+1 hole@1+3 next@4+4",
    ),
    "alternatives of an anonymous union share a cell": (
        struct("page", held("", CHOICE), scalar("flags")),
        "mapping | compound_head@0+8 flags@8+8",
    ),
    "a flexible array has no bytes": (struct("s", scalar("count", 8), flexible("entries")), "count@0+8"),
    "members that overlap in damaged debug information are drawn once": (
        Layout(1_000_000, "broken", RecordKind.STRUCT, 16, OVERLAPPING),
        "a@0+8 b@8+4 c@12+4",
    ),
    "a run of members that a group names too is drawn once": (struct("packet", held("", GROUP)), "saddr@0+8 daddr@8+8"),
    "an empty record": (struct("empty"), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_the_cells_of_a_record(case: str) -> None:
    layout, expected = CASES[case]
    drawn = line_map(layout, table(layout, CHOICE, ALONE, NAMED, GROUP))
    assert " ".join(f"{name}@{offset}+{size}" for name, offset, size in cells(drawn)) == expected


def test_a_member_on_two_lines_of_a_buffer_straddles_and_the_map_of_the_buffer_ends() -> None:
    head, wide, buffer = (Member(*one) for one in (("head", "", "", 0, 56), ("wide", "", "", 56, 16), BUFFER))
    layout = Layout(1, "ring", RecordKind.STRUCT, 72 + 640_000, (head, wide, buffer))
    drawn = line_map(layout, LayoutTable([layout]), phase=0)
    assert [[cell.straddles for cell in line.cells] for line in drawn.lines[:2]] == [[False, True], [True, False]]
    assert (len(drawn.lines) < 10_002, len(drawn.lines) + drawn.left_out) == (True, 10_002)


def test_of_a_union_the_alternative_that_was_touched_is_drawn() -> None:
    words = struct("", scalar("lru", 8, dimensions=(1,)), scalar("index"))
    halves = struct("", scalar("count", 4), scalar("order", 4))
    choice = union("", held("", words), held("", halves))
    layout = struct("page", held("", choice))
    layouts = table(layout, choice, words, halves)
    assert [cell[1:] for cell in cells(line_map(layout, layouts))] == [(0, 8), (8, 8)]
    seen = line_map(layout, layouts, heated(layout, layouts, hot("count", 0, 4, 1)))
    assert [cell[1:] for cell in cells(seen)] == [(0, 4), (4, 4), (8, 8)]
    assert [cell.heat for cell in seen.lines[0].cells] == [1.0, 0.0, 0.0]


def test_a_record_is_written_out_where_several_of_its_members_were_touched() -> None:
    counters = struct("counters", scalar("hits"), scalar("misses"))
    layout = struct("cache", held("stats", counters), scalar("name"))
    layouts = table(layout, counters)
    one = line_map(layout, layouts, heated(layout, layouts, hot("stats.hits", 0, 8, 1)))
    both = heated(layout, layouts, hot("stats.hits", 0, 8, 3), hot("stats.misses", 8, 8, 1))
    two = line_map(layout, layouts, both)
    assert cells(one)[0] == ("stats", 0, 16)
    assert cells(two)[:2] == [("stats.hits", 0, 8), ("stats.misses", 8, 8)]
    assert [cell.heat for cell in two.lines[0].cells] == [0.75, 0.25, 0.0]


def test_a_lock_stays_one_cell_and_a_function_that_touches_it_in_several_places_is_one() -> None:
    member, semaphore = lock("i_mmap_rwsem", 40)
    layout = struct("address_space", member)
    layouts = table(layout, semaphore)
    heat = heated(layout, layouts, hot("i_mmap_rwsem.word0", 0, 8, 3, 2), hot("i_mmap_rwsem.word1", 8, 8, 4))
    (cell,) = line_map(layout, layouts, heat).lines[0].cells
    assert (cell.path, cell.lock, cell.heat, cell.reads, cell.writes) == ("i_mmap_rwsem", True, 1.0, 7, 2)
    assert cell.written
    (toucher,) = cell.touchers
    assert (toucher.function, toucher.reads, toucher.writes) == ("function", 7, 2)


def test_a_record_that_holds_itself_in_damaged_debug_information_ends() -> None:
    itself = [Member("", "struct loop", "", 0, 64, record=1) for _ in range(3)]
    layout = Layout(1, "loop", RecordKind.STRUCT, 64, tuple(itself))
    fills(line_map(layout, LayoutTable([layout])), layout)


def test_a_union_of_more_alternatives_than_anybody_wrote_is_drawn() -> None:
    members = tuple(Member(f"m{number}", "long", f"m{number}", 8 * number, 8) for number in range(20_000))
    layout = Layout(1, "wide", RecordKind.UNION, 160_000, members)
    layouts = LayoutTable([layout])
    heat = heated(layout, layouts, *(hot(f"m{number}", 8 * number, 8, 1) for number in range(0, 8_000, 4)))
    drawn = line_map(layout, layouts, heat)
    assert (len(drawn.lines) < 2_500, len(drawn.lines) + drawn.left_out) == (True, 2_500)
    assert drawn.lines[0].cells[0].heat == pytest.approx(1 / 2_000)


QUEUE = struct("queue", scalar("head"), scalar("tail"))
DEVICE = struct("device", *(scalar(f"word{number}") for number in range(4)), held("queue", QUEUE))
LAYOUTS = table(QUEUE, DEVICE)


def test_samples_on_a_record_inside_another_are_its_own() -> None:
    finding = meeting(QUEUE, "tail", "head")
    inside = tuple(
        replace(one, path=f"queue.{one.path}", object_offset=(one.object_offset or 0) + 32, offset=one.offset + 32)
        for one in finding.members
    )
    outer = replace(finding.objects[0], type="device", layout=DEVICE.id)
    heat = heat_of(QUEUE, LAYOUTS, [replace(finding, objects=(outer,), members=inside)])
    assert [(spot.path, spot.offset, spot.contended) for spot in heat.spots] == [("head", 0, 100), ("tail", 8, 0)]
    assert heat.phases == ((32, 100),)


def test_a_guess_heats_nothing() -> None:
    finding = meeting(QUEUE, "tail", "head")
    guess = replace(finding, objects=(replace(finding.objects[0], outcome=Outcome.CANNOT_TELL),))
    assert heat_of(QUEUE, LAYOUTS, [guess]).spots == ()


def test_the_place_in_a_line_with_most_samples_is_drawn_and_the_others_are_named() -> None:
    findings = [meeting(QUEUE, "tail", "head", phase=32, samples=300), meeting(QUEUE, "tail", "head", samples=100)]
    drawn = line_map(QUEUE, LAYOUTS, heat_of(QUEUE, LAYOUTS, findings))
    assert (drawn.phase, drawn.lines[0].cells[0].heat) == (32, 1.0)
    assert drawn.caption == "objects start at byte 32 (75%), 0 (25%) of a line"


def test_shares_are_of_the_line_also_where_a_paste_left_rows_out() -> None:
    """As the table of the line has them: 100 of 160 samples stand in a row, 60 may be of any member."""
    finding = replace(meeting(QUEUE, "tail", "head", samples=100), contended=160)
    drawn = line_map(QUEUE, LAYOUTS, heat_of(QUEUE, LAYOUTS, [finding]))
    assert (drawn.lines[0].cells[0].heat, drawn.lines[0].heat) == (0.625, 0.625)
    assert drawn.caption == "38% of the contended accesses are in no row"


def test_the_profile_tells_on_which_cpus_and_nodes_a_function_ran() -> None:
    finding = replace(meeting(QUEUE, "tail", "head"), address=0x1000)
    accesses = (
        Access(0, "reader", hitm_local=60, nodes="0{0-1}", cpus=2),
        Access(0, "reader", hitm_local=40, nodes="1{5}", cpus=1),
        Access(8, "writer", stores_l1_hit=9, nodes="0{1}", cpus=1),
    )
    profile = Profile("p", "", "hitm", (CacheLine(finding.rank, 0x1000, accesses),))
    drawn = line_map(QUEUE, LAYOUTS, heat_of(QUEUE, LAYOUTS, [finding], profile))
    head, tail = drawn.lines[0].cells
    (reader,), (writer,) = head.touchers, tail.touchers
    assert (reader.function, reader.reads, reader.cpus, reader.nodes) == ("reader", 100, 3, (0, 1))
    assert (writer.function, writer.writes, writer.cpus, writer.nodes) == ("writer", 9, 1, (0,))
