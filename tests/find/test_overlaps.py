# SPDX-License-Identifier: GPL-2.0-or-later
"""Two objects never overlap, whatever was sampled; and no access names what it cannot be an access to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from find.lines import Built, accesses, explained, line_of, object_told, profile_of
from hand_made import held, scalar, struct, table
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.attribution.hypotheses import Hypothesis, overlap, same_place
from linesmith.analyzer.attribution.line_members import fits
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import CacheLine, Finding, Outcome
from linesmith.analyzer.slab.allocation import Kernel

FUNCTIONS = ("pull", "d_lookup", "down_write", "take", "queue", "get_nsproxy", "put_nsproxy")
ROWS = st.lists(st.tuples(st.sampled_from(range(0, 64, 8)), st.sampled_from(FUNCTIONS)), min_size=1, max_size=5)
PAGE = 0xFFFF_8880_1234_0000


@pytest.fixture(scope="module")
def containment(built: Built) -> Containment:
    return Containment(read_layouts(built("kernel.c")).layouts)


def sure(found: tuple[Finding, ...]) -> Iterator[Hypothesis]:
    for finding in found:
        for one in finding.objects:
            if one.layout is not None and one.outcome is Outcome.RESOLVED:
                yield Hypothesis(one.layout, (finding.address or 0) + one.start)


@given(st.lists(ROWS, min_size=2, max_size=8), st.booleans())
@settings(max_examples=40, deadline=None)
def test_objects_on_lines_behind_each_other(
    built: Built, containment: Containment, met: list[list[tuple[int, str]]], slabs: bool
) -> None:
    lines: list[CacheLine] = []
    for number, rows in enumerate(met):
        text = ", ".join(f"{offset} {name} 100/50" for offset, name in dict(rows).items())
        lines.append(line_of(accesses(text), PAGE + 64 * number, number))
    found = explained(built("kernel.c"), profile_of(*lines), kernel=Kernel() if slabs else None)
    claims = list(dict.fromkeys(sure(found)))
    for at, one in enumerate(claims):
        for other in claims[at + 1 :]:
            assert not overlap(one, other, containment) or same_place(one, other, containment), (one, other)


def test_locks_of_one_byte_are_no_record_of_pointers(built: Built) -> None:
    """The semaphores' functions at each byte of a line: the widths say that no semaphore lies there."""
    rows = accesses(", ".join(f"{offset} down_write 100/50" for offset in (0, 8)))
    wide = line_of(rows, PAGE)
    bytes_ = replace(wide, accesses=tuple(replace(one, offset=(one.offset or 0) + 3, width=8) for one in rows))
    assert explained(built("kernel.c"), profile_of(wide))[0].objects[0].type == "rw_semaphore"
    (found,) = explained(built("kernel.c"), profile_of(bytes_))
    assert found.objects[0].outcome not in (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)


def test_what_would_overlap_as_a_whole_is_the_part_of_it_that_does_not(built: Built) -> None:
    """A server by itself; in the proxy that embeds one it would take the bytes of the counters behind it."""
    server = line_of(accesses("0x8 reset 100/50, 0x10 waiting_for 100"), PAGE + 64)
    counters = line_of(accesses("0 count 100/50, 8 count 100/50, 0x10 failed 100"), PAGE + 256, 1)
    found = explained(built("embedded.c"), profile_of(server, counters))
    assert [object_told(one.objects[0]) for one in found] == ["server at -64", "counters at 0"]


INNER = struct("inner", scalar("one", 4), scalar("two", 4))
OUTER = struct("outer", scalar("whole"), held("inner", INNER), scalar("last", 4))


@pytest.mark.parametrize(
    ("place", "width", "fit"),
    [(0, 8, True), (0, 4, True), (8, 4, True), (8, 8, True), (8, 6, False), (16, 16, False), (8, 0, True)],
    ids=(
        *("a number", "a part of it", "just it", "two members at once", "it ends within another member"),
        *("it ends behind the object", "of no known width"),
    ),
)
def test_an_access_fits_a_member_or_several(place: int, width: int, fit: bool) -> None:
    containment = Containment(table(INNER, OUTER))
    leaf = containment.leaves(OUTER.id, place)[0]
    assert fits(leaf, OUTER.id, place, width, containment) is fit
