# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates an expert would have chosen on layouts that the kernel and perf once had, and lines that none cures."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hand_made import bits, finding, held, hot, lock, meeting, offsets, scalar, struct, table, union

from linesmith.analyzer.attribution.line_objects import NO_OTHER
from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.model import (
    Bounds,
    Candidate,
    ConflictPair,
    Finding,
    Layout,
    LineObject,
    Member,
    MoveKind,
    Outcome,
    SharingCost,
    Side,
    Triage,
    TriageKind,
)
from linesmith.tuner.propose.candidates import propose

I_MMAP_RWSEM, RWSEM = lock("i_mmap_rwsem", 40)


def scalars(names: str, size: int = 8) -> list[Member]:
    """Members of one size."""
    return [scalar(name, size) for name in names.split()]


# Linux 6.1, x86-64: i_mmap at 72, its lock right behind it at 88.
ADDRESS_SPACE = struct(
    "address_space",
    *(scalar("host"), scalar("i_pages", 16), scalar("invalidate_lock", 40), *scalars("gfp_mask i_mmap_writable", 4)),
    *(scalar("i_mmap", 16), I_MMAP_RWSEM, *scalars("nrpages writeback_index a_ops flags")),
    *(*scalars("wb_err private_lock", 4), scalar("private_list", 16), scalar("private_data")),
    align=8,
)
LAYOUTS = table(ADDRESS_SPACE, RWSEM)
PAIR = ConflictPair("i_mmap", "i_mmap_rwsem", "i_mmap_rwsem", 700)


@cache
def contended_address_space() -> tuple[Candidate, ...]:
    seen = [hot("i_mmap.rb_root", 72, 8, 700, 20), hot("i_mmap_rwsem.owner", 96, 8, 3000, 5000, lock=True)]
    return propose(finding(ADDRESS_SPACE, seen, [PAIR], phase=16), LAYOUTS)


def locked(samples: int = 100) -> Finding:
    return meeting(ADDRESS_SPACE, "i_mmap_rwsem", "i_mmap", phase=16, samples=samples)


def parted(candidate: Candidate, line_bytes: int = 64) -> bool:
    """Whether every pair is on different lines, wherever an object starts."""
    return all(one.after == 0 for one in candidate.residuals if one.line_bytes == line_bytes)


def gap(layout: Layout, one: str, other: str) -> int:
    """Bytes between two members."""
    first, second = sorted((m for m in layout.members if m.name in (one, other)), key=lambda member: member.offset)
    return second.offset - first.end


def moved(candidate: Candidate) -> list[tuple[str, str, str | int | None]]:
    return [(move.kind.value, move.member, move.after or move.partner or move.align) for move in candidate.moves]


def test_the_lock_of_the_mapping_tree_goes_behind_everything_else() -> None:
    first = contended_address_space()[0]
    assert moved(first) == [("move", "i_mmap_rwsem", "private_data")]
    assert first.after.size == first.before.size == 192
    assert (gap(first.after, "i_mmap", "i_mmap_rwsem"), parted(first), first.lines) == (64, True, 3)
    shares = [(one.line_bytes, one.before, one.after) for one in first.residuals]
    assert shares == [(64, 7 / 8, 0), (128, 15 / 16, 7 / 16)]


def test_what_a_candidate_leaves_is_told() -> None:
    notes = contended_address_space()[0].notes
    assert "i_mmap_rwsem is a lock and stays in one piece: waiting for it does not become shorter." in notes


def test_a_member_that_comes_to_lie_on_two_lines_is_told() -> None:
    """Objects begin with a line: ``list`` begins the second one, until what goes away in front of it draws it up."""
    layout = struct("s", scalar("hot"), scalar("seq"), scalar("rest", 48), scalar("list", 16), scalar("end"), align=64)
    found = propose(meeting(layout, "hot", "seq"), table(layout))
    told = "Puts on two cache lines: list (in 100% of the phases, 0% before)."
    assert found[0].split == told in found[0].notes
    still = struct("s", *layout.members[:4], scalar("end"), align=8)
    assert propose(meeting(still, "hot", "seq"), table(still))[0].split == ""


def test_a_record_that_is_perhaps_another_is_in_doubt_wherever_the_candidate_is_told() -> None:
    line = locked(3700)
    misfit = "what is touched at 0x8 hardly fits the likeliest type, which may be laid out otherwise there"
    found = propose(replace(line, objects=(replace(line.objects[0], doubt=misfit),)), LAYOUTS)[0]
    assert found.doubt == f"The line may not be of struct address_space: {misfit}."
    assert found.notes[0] == found.doubt
    assert propose(line, LAYOUTS)[0].doubt == ""


def test_nothing_is_promised_of_members_that_may_be_others_in_the_build_of_the_report() -> None:
    """Also where the record itself is beyond doubt."""
    seen = hot("i_mmap.rb_root", 72, 8, 500), hot("i_mmap_rwsem.owner", 96, 8, 0, 500, lock=True)
    perhaps = replace(hot("private_lock.word", 136, 4, 300), doubted=True)
    stores = Side("i_mmap_rwsem", 0, 500)

    def line(own: int) -> Finding:
        costs = (("i_mmap", own), ("private_lock", 300))
        met = tuple(SharingCost(Side(name, count, 0), stores, Bounds(count, count), Bounds()) for name, count in costs)
        found = finding(ADDRESS_SPACE, (*seen, perhaps), [PAIR], phase=16)
        target = replace(found.objects[0], margin=NO_OTHER)
        return replace(found, objects=(target,), cost=replace(found.cost, sharings=met))

    with pytest.raises(NothingToSuggest, match="what was accessed at 0x58 does not fit the members"):
        propose(line(100), LAYOUTS)
    assert propose(line(900), LAYOUTS)


TASK_GROUP = struct(
    "task_group",
    *(scalar("css", 200), *scalars("se cfs_rq shares"), scalar("idle", 4), scalar("load_avg", align=64)),
    *(*scalars("rt_se rt_rq"), scalar("rt_bandwidth", 104), *scalars("rcu list", 16), scalar("parent")),
    *(*scalars("siblings children", 16), scalar("autogroup"), scalar("cfs_bandwidth", 240)),
)
VM_LOCK, VM_RWSEM = lock("vm_lock", 40)
VM_AREA = struct(
    "vm_area_struct",
    *(*scalars("vm_start vm_end vm_mm vm_page_prot vm_flags"), VM_LOCK, scalar("shared", 32)),
    *(scalar("anon_vma_chain", 16), *scalars("anon_vma vm_ops vm_pgoff vm_file vm_private_data")),
    *scalars("swap_readahead_info vm_policy"),
)


@pytest.mark.parametrize(
    ("layout", "inner", "line", "mover"),
    [
        (TASK_GROUP, (), meeting(TASK_GROUP, "load_avg", "rt_se", "rt_rq"), "load_avg"),
        (VM_AREA, (VM_RWSEM,), meeting(VM_AREA, "vm_lock", "vm_start", "vm_flags"), "vm_lock"),
    ],
    ids=("task_group", "vm_area_struct"),
)
def test_one_move_parts_what_is_written_from_what_is_read(
    layout: Layout, inner: tuple[Layout, ...], line: Finding, mover: str
) -> None:
    found = [one for one in propose(line, table(layout, *inner)) if [move.member for move in one.moves] == [mover]]
    assert any(parted(one) and one.after.size <= layout.size for one in found)


def test_a_struct_of_one_line_can_only_grow() -> None:
    rwlock, record = lock("lock", 56, "rwlock")
    layout = struct("maps", scalar("entries"), rwlock)
    (only,) = propose(meeting(layout, "lock", "entries", phase=24), table(layout, record))
    assert (moved(only), parted(only)) == ([("align", "lock", 64)], True)
    assert (only.before.size, only.after.size, only.lines) == (64, 128, 2)
    assert any("allocated at multiples of 64 bytes" in note for note in only.notes)


def test_a_hole_that_fits_is_filled_without_growing_and_nothing_else_moves() -> None:
    layout = struct("s", scalar("a", 4), scalar("b", 64), scalar("reader"), scalar("seq", 4))
    first = propose(meeting(layout, "seq", "reader"), table(layout))[0]
    assert moved(first) == [("move into a hole", "seq", "a")]
    assert offsets(first.after) == {"a": 0, "seq": 4, "b": 8, "reader": 72}
    assert (first.before.size, first.after.size) == (88, 80)
    tight = struct("s", scalar("a"), scalar("writer", 4), scalar("b", 4), scalar("rest", 48), align=16)
    found = propose(meeting(tight, "writer", "a"), table(tight))
    assert all(one.after.size <= tight.size for one in found for move in one.moves if move.kind is MoveKind.FILL_HOLE)


def four_members(*pairs: ConflictPair, counts: tuple[tuple[int, int], ...]) -> tuple[Candidate, ...]:
    """Candidates for four hot members in a row, each with its reads and writes, and cold ones behind."""
    names = ("one", "writer", "two", "three")
    layout = struct("s", *(scalar(name) for name in names), scalar("cold", 88))
    seen = [hot(name, 8 * at, 8, *count) for at, (name, count) in enumerate(zip(names, counts, strict=True))]
    return propose(finding(layout, seen, pairs), table(layout), limit=20)


def test_two_moves_follow_where_one_does_not_part_every_pair() -> None:
    both = ConflictPair("one", "writer", "writer", 90), ConflictPair("three", "two", "three", 90)
    first, *rest = four_members(*both, counts=((90, 90),) * 4)
    assert (len(first.moves), parted(first), first.after.size) == (2, True, first.before.size)
    assert any(len(one.moves) == 1 for one in rest)


def test_a_single_move_stays_first_where_a_second_would_do_little_more() -> None:
    pairs = ConflictPair("one", "writer", "writer", 970), ConflictPair("two", "three", "three", 20)
    first = four_members(*pairs, counts=((970, 0), (0, 970), (20, 0), (0, 20)))[0]
    assert [move.member for move in first.moves] == ["writer"]


def test_a_candidate_keeps_clear_of_members_hot_on_another_line() -> None:
    cold = [scalar(f"cold{number}") for number in range(14)]
    layout = struct("s", scalar("reader"), scalar("writer"), *cold, scalar("busy"))
    line = meeting(layout, "writer", "reader")
    other = finding(layout, [hot("busy", offsets(layout)["busy"], 8, reads=90)], rank=1)
    alone, beside = (propose(line, table(layout), others=others)[0] for others in ((), [other]))
    assert gap(alone.after, "writer", "busy") < 56 <= gap(beside.after, "writer", "busy")
    assert parted(beside)


def within(name: str) -> tuple[Candidate, ...]:
    """Candidates for members of a struct of that name inside another one."""
    cold = (scalar(f"cold{number}") for number in range(8))
    inner = struct(name, scalar("map_lock"), scalar("count"), *cold)
    layout = struct("mm_struct", held("", inner), scalar("bitmap", 8, dimensions=(1,)))
    seen = [hot("map_lock", 0, 8, writes=50, lock=True), hot("count", 8, 8, reads=50)]
    pair = ConflictPair("count", "map_lock", "map_lock", 50)
    return propose(finding(layout, seen, [pair]), table(layout, inner))


def test_members_of_an_anonymous_struct_move_inside_it_and_those_of_a_struct_with_a_tag_do_not() -> None:
    first = within("")[0]
    assert (first.type, first.before.name, parted(first)) == ("mm_struct", "", True)
    assert first.after.size == first.before.size
    with pytest.raises(NothingToSuggest, match=r"parts of one union or record .*, which moves as a whole"):
        within("head")


def test_bit_fields_move_as_one() -> None:
    layout = struct("s", scalar("writer"), bits("a", 3), bits("b", 5), scalar("cold", 92))
    seen = [hot("writer", 0, 8, writes=50), hot("a", 8, 1, reads=50)]
    found = propose(finding(layout, seen, [ConflictPair("writer", "a", "writer", 50)]), table(layout))
    both = [move for one in found for move in one.moves if move.member == "a" and move.kind is not MoveKind.SWAP]
    assert {move.members for move in both} == {("a", "b")}


def test_an_inner_type_of_several_lines_can_be_rearranged_on_its_own() -> None:
    line = locked()
    inner = replace(line.objects[0], outcome=Outcome.INNER_TYPE_ONLY, containers=("inode", "shmem_inode_info"))
    first = propose(replace(line, objects=(inner,)), LAYOUTS)[0]
    assert moved(first) == [("move", "i_mmap_rwsem", "private_data")]
    assert "Also part of inode, shmem_inode_info, whose objects decide the phase." in first.notes


def test_an_alignment_that_had_to_be_inferred_is_told() -> None:
    told = struct("s", scalar("reader"), scalar("writer"), scalar("aside", 8, align=64), scalar("cold", 120))
    silent = replace(told, members=tuple(replace(member, alignment=None) for member in told.members), alignment=None)
    first = propose(meeting(silent, "writer", "reader"), table(silent))[0]
    assert "The alignment of aside is inferred from the offsets; the source may ask for less." in first.notes
    assert [member.alignment for member in first.after.members] == [None] * 4


ONE = struct("s", scalar("a"), scalar("b"))


def refused(line: Finding, *layouts: Layout) -> str:
    with pytest.raises(NothingToSuggest) as caught:
        propose(line, table(*(layouts or (ONE,))))
    return str(caught.value)


def diagnosed(kind: TriageKind) -> Finding:
    return replace(finding(ONE, [hot("a", 0, 8, 9, 9)]), triage=Triage((kind,), (), ""))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (TriageKind.TRUE_SHARING, ("really share", "per CPU")),
        (TriageKind.LOCK_CONTENTION, ("one lock", "shard the lock")),
        (TriageKind.ADJACENT_LINE, ("128-byte pair", "align the written line to 128 bytes")),
        (TriageKind.SEVERAL_OBJECTS, ("different objects", "align each object")),
    ],
)
def test_what_no_layout_cures_is_refused_with_what_does(kind: TriageKind, words: tuple[str, ...]) -> None:
    message = refused(diagnosed(kind))
    assert [word for word in words if word not in message] == []


def test_a_line_without_a_writer_is_not_told_as_one_that_no_layout_helps() -> None:
    line = diagnosed(TriageKind.NO_WRITER)
    assert refused(replace(line, stores_sampled=False)) == (
        "Line 0: it is not known whether moving members helps, because nobody was seen writing on the line, so nothing"
        " says what to separate. To find out: record stores too (perf c2c record -e ldlat-loads,ldlat-stores)."
    )
    sampled_elsewhere = refused(line)
    assert "some were sampled but none on this line" in sampled_elsewhere
    assert "record stores too" not in sampled_elsewhere
    recorded = refused(replace(line, simulated="4 CPUs under QEMU"))
    assert "all stores since the line was first contended were seen" in recorded


def test_a_line_without_a_known_object_is_refused() -> None:
    line = finding(ONE, [hot("a", 0, 8, 9, 9)])
    unknown = replace(line.objects[0], layout=None, outcome=Outcome.CANNOT_TELL, reason="two types fit equally well")
    assert refused(replace(line, objects=(unknown,))) == (
        "Line 0: the record on its lines could not be identified (two types fit equally well), so there is nothing"
        " to rearrange."
    )
    inner = replace(line.objects[0], outcome=Outcome.INNER_TYPE_ONLY, containers=("pool", "queue"))
    assert refused(replace(meeting(ONE, "b", "a"), objects=(inner,))) == (
        "Line 0: only the inner type s, perhaps of pool, queue is known, not the struct whose members could move."
    )


def test_what_is_not_rearranged() -> None:
    lock = struct("rw_semaphore", scalar("count"), scalar("owner"), scalar("wait_lock", 4))
    assert "a lock itself" in refused(meeting(lock, "owner", "count"), lock)
    behind = finding(lock, [hot("count", 0, 8, 9, 9)], [ConflictPair("rw_semaphore", "id", "rw_semaphore", 9)])
    assert "id and rw_semaphore are different objects. Instead: align each object to a cache line" in refused(
        behind, lock
    )
    word = LineObject("", None, 0, 1.0, Outcome.RESOLVED, variable="wq_lock", size=8)
    alone = replace(diagnosed(TriageKind.LOCK_CONTENTION), objects=(word,))
    assert "wq_lock is a lock itself. Instead: shard the lock" in refused(alone)
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", held("", either), scalar("z", 64))
    seen = [hot("x", 0, 8, 9), hot("y", 0, 8, writes=9)]
    in_union = refused(finding(layout, seen, [ConflictPair("x", "y", "y", 9)]), layout, either)
    assert "x and y are parts of one union or record with x, which moves as a whole" in in_union
    packed = replace(ONE, members=(replace(ONE.members[0], size=1), replace(ONE.members[1], offset=1)), size=9)
    assert "packed" in refused(meeting(packed, "b", "a"), packed)
    across = finding(ONE, [hot("a", 0, 8, 9, 9)], [ConflictPair("a", "0x28", "a", 9)])
    assert "a and what is at 0x28 of the line are not both members of one struct s" in refused(across)


def test_members_that_are_apart_already_mean_another_build() -> None:
    far = struct("s", scalar("a"), scalar("between", 120), scalar("b"))
    message = refused(meeting(far, "b", "a"), far)
    assert "a and b are on different lines of struct s already: the profile is of another build" in message
    assert "it is not known whether moving members helps" in message


def test_elements_of_an_array_that_meet_are_aligned_or_taken_apart() -> None:
    level = struct("level", scalar("count", 4), scalar("mask"))
    levels = replace(held("levels", level), size=16 * 100, dimensions=(100,))
    layout = struct("cpupri", levels, scalar("places"))
    seen = [hot("levels[97].count", 1552, 4, 100), hot("levels[99].count", 1584, 4, 100, 50)]
    said = refused(finding(layout, seen), layout, level)
    assert "elements of levels meet" in said
    assert "align each element to a line (16 -> 64 bytes each, 1,600 -> 6,400 in all)" in said
    assert "make two arrays of it" in said
