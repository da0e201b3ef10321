# SPDX-License-Identifier: GPL-2.0-or-later
"""A record that is a variable lies in one place: that counts, and elsewhere only what decides between equals."""

from __future__ import annotations

from dataclasses import replace

from hand_made import meeting, offsets, scalar, struct, table

from linesmith.analyzer.geometry import ObjectStarts, phases
from linesmith.analyzer.model import CACHE_LINE_BYTES, Candidate, Finding, Layout, VariableRow
from linesmith.tuner.candidates import propose
from linesmith.tuner.cost.phase_mixes import PhaseMixes

LINE = 0x1000


def counters(cold: int = 6) -> Layout:
    """Eight members of eight bytes, of which the second is written."""
    return struct("counters", scalar("reader"), scalar("writer"), *(scalar(f"cold{n}") for n in range(cold)))


def placed(layout: Layout, *rows: VariableRow) -> Finding:
    """The reader waits for the writer in an object of the first of these variables, 32 bytes into a line."""
    found = meeting(layout, "writer", "reader")
    return replace(
        found,
        objects=tuple(replace(one, start=32, phase=32, row=rows[0]) for one in found.objects),
        members=tuple(replace(one, offset=one.offset + 32) for one in found.members),
    )


def best(layout: Layout, *rows: VariableRow) -> Candidate:
    return propose(placed(layout, *rows), table(layout))[0]


def test_one_variable_has_one_phase() -> None:
    found = best(counters(), VariableRow("totals", LINE + 32, 64))
    assert (found.granules, found.firsts) == ((128, 128), (32, 32))
    assert [(one.line_bytes, one.before, one.after) for one in found.residuals] == [(64, 1, 0), (128, 1, 1)]
    assert [(one.place, one.phases) for one in found.proofs if one.line_bytes == CACHE_LINE_BYTES] == [
        ("totals", 1),
        ("", 8),
    ]
    assert any("that of totals is where this build has it" in note for note in found.notes)


def test_of_places_that_do_the_same_there_the_one_that_does_most_elsewhere_is_taken() -> None:
    found = best(counters(), VariableRow("totals", LINE + 32, 64))
    assert offsets(found.after)["writer"] - offsets(found.after)["reader"] == 56


def test_elements_of_an_array_have_the_phases_of_their_stride() -> None:
    layout = counters(cold=1)
    mixes = PhaseMixes(layout, table(layout), None, rows=[VariableRow("row", LINE + 8, 24, 4)])
    assert mixes.of(8).phases() == ((8, 0.25), (16, 0.25), (32, 0.25), (56, 0.25))
    assert mixes.starts(8) == ObjectStarts(8, 0)
    assert mixes.starts(64) == ObjectStarts(64, 0), "each on lines of its own"


def test_variables_of_one_record_count_the_same() -> None:
    layout = counters()
    mixes = PhaseMixes(
        layout, table(layout), None, rows=[VariableRow("one", LINE, 64), VariableRow("other", LINE + 32, 64)]
    )
    assert mixes.of(8).phases() == ((0, 0.5), (32, 0.5))


def test_variables_whose_places_are_no_series_are_told_at_every_start() -> None:
    """At 0 and 32 of 128 bytes a pair may meet in each of them, and in 3 of 4 multiples of 32 only."""
    layout, apart = counters(), [VariableRow("one", LINE, 64), VariableRow("other", LINE + 32, 64)]
    mixes = PhaseMixes(layout, table(layout), None, rows=apart)
    assert (mixes.starts(8), mixes.firsts((8, 8), 0)) == (ObjectStarts(8), None)
    every = [VariableRow("row", LINE, 32, 4)]
    series = PhaseMixes(layout, table(layout), None, rows=every)
    assert (series.starts(8), series.firsts((8, 64), 0)) == (ObjectStarts(32, 0), (0, 0))


def test_objects_from_an_allocator_begin_at_any_multiple_of_their_alignment() -> None:
    layout = counters()
    mixes = PhaseMixes(layout, table(layout), None)
    assert not mixes.placed
    assert list(phases(mixes.starts(8).step, CACHE_LINE_BYTES)) == list(range(0, 64, 8))
    assert list(phases(128, CACHE_LINE_BYTES, 96)) == [32]
