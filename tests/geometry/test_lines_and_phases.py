# SPDX-License-Identifier: GPL-2.0-or-later
"""Cache lines of members, and the object phases in which two members share one."""

from __future__ import annotations

import pytest
from c_layouts import structs
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.layouts.gaps import Span, line_of, lines, lines_touched, meeting_phases, straddles
from linesmith.analyzer.model import Layout

spans = st.builds(Span, st.integers(0, 300), st.integers(1, 150))
line_sizes = st.sampled_from((64, 128))
granules = st.sampled_from((1, 2, 4, 8, 16, 32, 64, 128, 192, 24, 680))


def bytes_meet(first: Span, second: Span, line_bytes: int, start: int) -> bool:
    mine = {(start + first.offset + byte) // line_bytes for byte in range(first.size)}
    return any((start + second.offset + byte) // line_bytes in mine for byte in range(second.size))


@given(structs, line_sizes)
def test_a_record_covers_the_lines_of_its_bytes(layout: Layout, line_bytes: int) -> None:
    assert lines(layout, line_bytes) == len({line_of(byte, line_bytes) for byte in range(layout.size)})


@given(spans, line_sizes)
def test_a_span_touches_the_lines_of_its_bytes(span: Span, line_bytes: int) -> None:
    touched = {line_of(span.offset + byte, line_bytes) for byte in range(span.size)}
    assert set(lines_touched(span.offset, span.size, line_bytes)) == touched
    assert list(lines_touched(span.offset, 0, line_bytes)) == []


@pytest.mark.parametrize(
    ("offset", "size", "expected"),
    [(56, 8, False), (60, 8, True), (32, 64, True), (0, 64, False), (0, 65, False), (64, 0, False)],
)
def test_only_what_would_fit_on_a_line_straddles(offset: int, size: int, expected: bool) -> None:
    assert straddles(offset, size) is expected


@given(spans, spans, line_sizes, granules)
def test_the_share_counts_object_starts(first: Span, second: Span, line_bytes: int, granule: int) -> None:
    starts = [number * granule for number in range(line_bytes)]
    met = sum(bytes_meet(first, second, line_bytes, start) for start in starts)
    assert meeting_phases(first, second, line_bytes, granule) == met / len(starts)


@given(st.integers(0, 40), st.integers(1, 4), st.integers(0, 20), st.integers(1, 4), line_sizes, st.integers(0, 6))
def test_a_gap_of_a_line_less_a_granule_parts_two_members(
    offset: int, size: int, gap: int, other: int, line_bytes: int, power: int
) -> None:
    granule = 1 << power
    first = Span(offset * granule, size * granule)
    second = Span(first.offset + first.size + gap * granule, other * granule)
    never = meeting_phases(first, second, line_bytes, granule) == 0
    assert never == (gap * granule >= line_bytes - granule)
