# SPDX-License-Identifier: GPL-2.0-or-later
"""Which samples are a record's: on every line that holds it, inside others too, but not where it is a guess."""

from __future__ import annotations

from dataclasses import replace

from hand_made import held, meeting, scalar, struct, table

from linesmith.analyzer.line_map import heat_of, line_map
from linesmith.analyzer.model import Access, Outcome, Profile, SharedLine

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


def test_a_guess_or_a_line_that_does_not_count_heats_nothing() -> None:
    finding = meeting(QUEUE, "tail", "head")
    guess = replace(finding, objects=(replace(finding.objects[0], outcome=Outcome.CANNOT_TELL),))
    assert heat_of(QUEUE, LAYOUTS, [guess, replace(finding, apart="timekeeping")]).spots == ()


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
    assert drawn.caption == "38% of the contended samples stand in no row"


def test_the_profile_tells_on_which_cpus_and_nodes_a_function_ran() -> None:
    finding = replace(meeting(QUEUE, "tail", "head"), address=0x1000)
    accesses = (
        Access(0, "reader", hitm_local=60, nodes="0{0-1}", cpus=2),
        Access(0, "reader", hitm_local=40, nodes="1{5}", cpus=1),
        Access(8, "writer", stores_l1_hit=9, nodes="0{1}", cpus=1),
    )
    profile = Profile("p", "", "hitm", (SharedLine(finding.rank, 0x1000, accesses),))
    drawn = line_map(QUEUE, LAYOUTS, heat_of(QUEUE, LAYOUTS, [finding], profile))
    head, tail = drawn.lines[0].cells
    (reader,), (writer,) = head.touchers, tail.touchers
    assert (reader.function, reader.reads, reader.cpus, reader.nodes) == ("reader", 100, 3, (0, 1))
    assert (writer.function, writer.writes, writer.cpus, writer.nodes) == ("writer", 9, 1, (0,))
