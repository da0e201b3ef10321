# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout is predicted to cost: where members meet, how much each is read, and in which phases objects begin:
by slab place, recomputed for another size, at every alignment, or as a variable.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, held, hot, meeting, offsets, scalar, struct, table

from linesmith.analyzer.attribution.identify import with_found_caches
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.gaps import ObjectStarts
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    AccessCounts,
    ConflictPair,
    Finding,
    FunctionCounts,
    Layout,
    MemberAccesses,
    ObjectArea,
    ObjectKind,
    Profile,
    SlabBasis,
    SlabMachine,
    TypeAccesses,
    VariableRow,
)
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import propose
from linesmith.tuner.propose.meetings import cost, interest
from linesmith.tuner.propose.phases import PhaseMixes, memory
from linesmith.tuner.propose.subject import ContendedRecord, subject


def members(**sizes: int) -> Layout:
    return struct("s", *(scalar(name, size) for name, size in sizes.items()))


def target(layout: Layout, line: Finding | None = None, *others: Finding) -> ContendedRecord:
    """The record of a line on which its reader meets its writer."""
    return subject(line or meeting(layout, "writer", "reader"), table(layout), others)


def apart(gap: int, phase: int = 0) -> ContendedRecord:
    """A reader at 0 and a written member behind it, with ``gap`` bytes between them."""
    layout = members(reader=8, between=gap, writer=8) if gap else members(reader=8, writer=8)
    return target(layout, meeting(layout, "writer", "reader", phase=phase))


@pytest.mark.parametrize(("gap", "share"), [(0, 7 / 8), (8, 6 / 8), (32, 3 / 8), (48, 1 / 8), (56, 0), (64, 0)])
def test_two_members_meet_in_fewer_phases_the_farther_they_are_apart(gap: int, share: float) -> None:
    found = apart(gap)
    assert cost(found.heat, found.starts, granule=8).anywhere == 100 * share


@pytest.mark.parametrize("order", [("reader", "writer"), ("writer", "reader")])
def test_of_all_bytes_where_an_object_may_begin_one_separates_neighbours(order: tuple[str, str]) -> None:
    found = target(members(**dict.fromkeys(order, 8)))
    at_64 = [one for one in found.heat.proofs(found.starts, granule=1) if one.line_bytes == CACHE_LINE_BYTES]
    assert (at_64[-1].together, at_64[-1].phases) == (63, 64)


def test_the_phases_that_count() -> None:
    found = apart(32)
    assert cost(found.heat, found.starts, granule=32).anywhere == 50, "a coarser granule leaves fewer phases"
    assert cost(found.heat, found.starts, granule=8).here == 100, "in the phase of the profile they meet"
    assert cost(replace(found.heat, seen=((24, 1.0),)), found.starts, granule=8).here == 0
    assert cost(apart(0).heat, [0, 4], granule=8).anywhere == 100, "spots that share a byte always meet"
    assert apart(48, phase=16).heat.phase is None, "a phase in which the pair does not meet is not believed"


def test_what_is_hot_and_by_how_much() -> None:
    three = members(a=8, b=8, c=8)
    seen = [hot("a", 0, 8, reads=60, writes=5), hot("b", 8, 8, reads=40, writes=5), hot("c", 16, 8, writes=5)]
    pairs = [ConflictPair("a", "b", "a", 100), ConflictPair("a", "c", "c", 60), ConflictPair("b", "c", "c", 40)]
    weights = [contact.weight for contact in target(three, finding(three, seen, pairs)).heat.sampled]
    assert weights == [50, 30, 20], "they stay within the contended samples"
    layout = members(table=512, writer=8)
    seen = [hot("table[0]", 0, 8, reads=9), hot("writer", 512, 8, writes=9)]
    found = target(layout, finding(layout, seen, [ConflictPair("table", "writer", "writer", 9)]))
    assert [(spot.name, spot.start, spot.size) for spot in found.heat.spots] == [("table", 0, 8), ("writer", 0, 8)]
    layout = members(reader=8, writer=8, tail=48)
    line = meeting(layout, "writer", "reader")
    foreign = replace(hot("tail", 16, 48, reads=9), offset=48)
    found = target(layout, replace(line, members=(*line.members, foreign)))
    assert {spot.name for spot in found.heat.spots} == {"reader", "writer"}


def test_damaged_debug_information_in_which_a_struct_holds_itself_is_refused() -> None:
    inner = struct("", scalar("x"), scalar("y"))
    endless = replace(inner, members=(*inner.members, replace(held("", inner), offset=16)))
    layout = struct("s", held("", endless), scalar("rest"))
    seen = [hot("x", 0, 8, reads=9), hot("y", 8, 8, writes=9)]
    with pytest.raises(NothingToSuggest, match="its size is 16 bytes where C's rules give 32"):
        subject(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), table(layout, endless))


READ = AccessCounts(reads=1)
APART = struct("apart", scalar("first"), scalar("cold", 56), scalar("second"))


def touched(path: str, offset: int, *functions: str) -> MemberAccesses:
    """Each of the functions reads the member."""
    return MemberAccesses(path, offset, 8, READ, tuple(FunctionCounts(name, READ) for name in functions))


def test_many_readers_in_the_code_are_taken_for_many_reads() -> None:
    many, few = touched("first", 0, *map(str, range(32))), touched("second", 64, *"abcdefgh")
    code = TypeAccesses(APART.id, AccessCounts(), 1, (many, few))
    assert interest(APART, (0, 8, 64), code) == (1.0, 0.0, 0.5)
    assert interest(APART, (0, 8, 64), None) == pytest.approx((1 / 3, 2 / 9, 1 / 9))


KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 1)))
# A record that lies in inodes, as address_space does.
MAPPING = struct("address_space", scalar("tree", 16), scalar("lock"), scalar("rest", 104))


def in_inodes(front: int) -> LayoutTable:
    """The mapping behind ``front`` bytes of an ext4 inode, whose cache asks for no alignment."""
    inode = struct("ext4_inode_info", scalar("own", front), held("i_data", MAPPING), scalar("tail", 16))
    return table(MAPPING, inode)


def test_the_slabs_of_the_objects_around_a_record_decide_its_phases() -> None:
    mixes = PhaseMixes(MAPPING, in_inodes(front=64), KERNEL)
    place, elsewhere = mixes.of(granule=8).at(64)
    # 208 bytes and a word for the free pointer: 216 apart, 37 objects on two pages.
    assert (place.place, place.basis, elsewhere.place) == ("ext4_inode_cache, i_data", SlabBasis.COMPUTED, "")
    objects = [(phase, round(share * 37)) for phase, share in place.phases]
    assert objects == [(0, 5), (8, 5), (16, 4), (24, 5), (32, 5), (40, 4), (48, 5), (56, 4)]
    # Grown to 248 bytes and a word for the free pointer: 256 apart.
    assert mixes.of(granule=8, growth=40).at(64)[0].phases == ((0, 1.0),)
    (slab,) = PhaseMixes(MAPPING, in_inodes(front=72), KERNEL).slabs(granule=64, growth=0)
    assert (slab.offset, slab.cache.geometry.object_bytes) == (128, 320)


def test_a_record_with_a_cache_of_its_own_is_nowhere_else_one_from_kmalloc_may_be() -> None:
    own, thing = (struct(name, scalar("start"), scalar("rest", 184)) for name in ("vm_area_struct", "thing"))
    (place,) = PhaseMixes(own, table(own), KERNEL).of(granule=8).at(64)
    assert (place.place, place.phases) == ("vm_area_struct", ((0, 1.0),))
    assumed = PhaseMixes(thing, table(thing), KERNEL).of(granule=8).at(64)
    assert [one.place for one in assumed] == ["kmalloc-192", ""]


def test_objects_that_were_found_in_a_cache_are_nowhere_else() -> None:
    """Recorded in kmalloc-cg-192; grown it is the next cache of that kind, aligned one of the same name."""
    thing = struct("thing", scalar("start"), scalar("rest", 152))
    layouts = table(thing, struct("vm_area_struct", held("thing", thing)))
    area = ObjectArea(ObjectKind.SLAB, "kmalloc-cg-192", 0, 192, 192, 21, ("thing",))
    profile = Profile("recorded", "", "hitm", (), areas=(area,))
    found = PhaseMixes(thing, layouts, with_found_caches(KERNEL, profile, layouts))
    assert [(one.place, one.phases) for one in found.of(8).at(64)] == [("kmalloc-cg-192", ((0, 1.0),))]
    assert found.starts(8) == ObjectStarts(64)
    (use,) = memory(found, 8, growth=40)
    assert (use.cache, use.stride, use.basis) == ("kmalloc-cg-256", 256, SlabBasis.CHOSEN)


def test_the_predicted_cost_follows_the_slabs_when_the_record_grows() -> None:
    layout = struct("vm_area_struct", scalar("reader"), scalar("gap", 40), scalar("writer"), scalar("rest", 96))
    target = subject(meeting(layout, "writer", "reader"), table(layout), premises=Premises(kernel=KERNEL))
    # 152 bytes apart all eight phases occur, 192 apart only one, in which the two lie on one line.
    now, grown = (cost(target.heat, target.starts, granule=8, growth=growth) for growth in (0, 40))
    assert (now.here, round(now.anywhere, 1), grown.here, grown.anywhere) == (100, 26.9, 100, 100)


PAIR = struct("s", scalar("reader"), scalar("gap", 24), scalar("writer"), scalar("rest", 88))


def of_lines(*lines: Finding) -> ContendedRecord:
    return subject(lines[0], table(PAIR), lines[1:])


def test_the_phases_of_all_lines_of_a_record_are_the_profiles() -> None:
    seen = ((0, 300), (16, 100))
    target = of_lines(*(meeting(PAIR, "writer", "reader", phase=phase, samples=samples) for phase, samples in seen))
    assert (target.heat.seen, target.heat.phase) == (((0, 0.75), (16, 0.25)), None)
    assert [one.weight for one in target.heat.sampled] == [400]
    assert cost(target.heat, [0, 8, 56, 64], granule=8).here == pytest.approx(300)


def test_a_contact_seen_in_some_phases_costs_more_in_all_of_them() -> None:
    here, apart = (meeting(PAIR, "writer", "reader", phase=phase) for phase in (0, 40))
    target = of_lines(here, replace(apart, rank=1, triage=replace(apart.triage, pairs=())))
    assert [(one.sampled, one.weight) for one in target.heat.contacts] == [(True, 200)]
    assert cost(target.heat, target.starts, granule=8).here == 100


def test_who_uses_a_record_without_waiting_counts_as_well() -> None:
    layout = struct("s", scalar("reader"), scalar("writer"), scalar("gap", 112), scalar("quiet"))
    quiet = finding(layout, [hot("quiet", 128, 8, reads=40)], rank=7)
    target = subject(meeting(layout, "writer", "reader"), table(layout), premises=Premises(beside=(quiet,)))
    assert [(one.second.name, one.sampled) for one in target.heat.contacts] == [("writer", True), ("quiet", False)]


LINE = 0x1000


def counters(cold: int = 6) -> Layout:
    """Members of eight bytes, of which the second is written."""
    return struct("counters", scalar("reader"), scalar("writer"), *(scalar(f"cold{n}") for n in range(cold)))


def mixes(layout: Layout, *rows: VariableRow) -> PhaseMixes:
    """The phases of a record that only these variables are."""
    return PhaseMixes(layout, table(layout), None, rows=rows)


def test_a_variable_has_one_phase_and_what_decides_between_equals_is_what_is_best_elsewhere() -> None:
    layout, row = counters(), VariableRow("totals", LINE + 32, 64)
    line = meeting(layout, "writer", "reader")
    objects = tuple(replace(one, start=32, row=row) for one in line.objects)
    members = tuple(replace(one, offset=one.offset + 32) for one in line.members)
    found = propose(replace(line, objects=objects, members=members), table(layout))[0]
    assert (found.granules, found.firsts) == ((128, 128), (32, 32))
    assert [(one.line_bytes, one.before, one.after) for one in found.residuals] == [(64, 1, 0), (128, 1, 1)]
    places = [(one.place, one.phases) for one in found.proofs if one.line_bytes == CACHE_LINE_BYTES]
    assert places == [("totals", 1), ("", 8)]
    assert offsets(found.after)["writer"] - offsets(found.after)["reader"] == 56


def test_elements_of_an_array_have_the_phases_of_their_stride() -> None:
    found = mixes(counters(cold=1), VariableRow("row", LINE + 8, 24, 4))
    assert found.of(8).phases() == ((8, 0.25), (16, 0.25), (32, 0.25), (56, 0.25))
    assert found.starts(8) == ObjectStarts(8, 0)
    assert found.starts(64) == ObjectStarts(64, 0), "each on lines of its own"
    assert found.of(8, growth=8).phases() == ((8, 0.5), (40, 0.5)), "elements of 32 bytes"


def test_variables_count_the_same_and_where_their_places_are_no_series_every_start_is_told() -> None:
    """At 0 and 32 of 128 bytes a pair may meet in each of them, and in 3 of 4 multiples of 32 only."""
    apart = mixes(counters(), VariableRow("one", LINE, 64), VariableRow("other", LINE + 32, 64))
    assert apart.of(8).phases() == ((0, 0.5), (32, 0.5))
    assert (apart.starts(8), apart.firsts((8, 8), 0)) == (ObjectStarts(8), None)
    series = mixes(counters(), VariableRow("row", LINE, 32, 4))
    assert (series.starts(8), series.firsts((8, 64), 0)) == (ObjectStarts(32, 0), (0, 0))
