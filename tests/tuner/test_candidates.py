# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates an expert would have chosen, on layouts that the kernel and perf once had."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import bits, finding, held, hot, lock, meeting, offsets, scalar, struct, table, union

from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import (
    Candidate,
    ConflictPair,
    Finding,
    Layout,
    MoveKind,
    Outcome,
)
from linesmith.analyzer.report.savings import saved
from linesmith.tuner.candidates import proposal, propose
from linesmith.tuner.premises import NO_PREMISES

I_MMAP_RWSEM, RWSEM = lock("i_mmap_rwsem", 40)


def address_space() -> tuple[Layout, LayoutTable]:
    """Linux 6.1, x86-64: i_mmap at 72, its lock right behind it at 88."""
    layout = struct(
        "address_space",
        scalar("host"),
        scalar("i_pages", 16),
        scalar("invalidate_lock", 40),
        scalar("gfp_mask", 4),
        scalar("i_mmap_writable", 4),
        scalar("i_mmap", 16),
        I_MMAP_RWSEM,
        scalar("nrpages"),
        scalar("writeback_index"),
        scalar("a_ops"),
        scalar("flags"),
        scalar("wb_err", 4),
        scalar("private_lock", 4),
        scalar("private_list", 16),
        scalar("private_data"),
        align=8,
    )
    return layout, table(layout, RWSEM)


def contended_address_space() -> tuple[Candidate, ...]:
    layout, layouts = address_space()
    seen = [hot("i_mmap.rb_root", 72, 8, 700, 20), hot("i_mmap_rwsem.owner", 96, 8, 3000, 5000, lock=True)]
    pair = ConflictPair("i_mmap", "i_mmap_rwsem", "i_mmap_rwsem", 700)
    return propose(finding(layout, seen, [pair], phase=16), layouts)


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
    assert (first.predicted.before, first.predicted.after) == (700, 0)


def test_the_place_the_kernel_chose_in_2023_is_told_with_what_it_leaves() -> None:
    considered = {one.after: one.residuals[0].after for one in contended_address_space()[0].considered}
    assert considered["flags"] == 3 / 8
    assert considered["private_list"] == 0, "where the kernel put it in 2024"


def test_residuals_tell_the_share_of_phases_before_and_after() -> None:
    first = contended_address_space()[0]
    assert [(one.line_bytes, one.before, one.after) for one in first.residuals] == [
        (64, 7 / 8, 0),
        (128, 15 / 16, 7 / 16),
    ]


def test_waiting_for_the_lock_itself_is_not_promised_to_end() -> None:
    notes = contended_address_space()[0].notes
    assert "i_mmap_rwsem is a lock and stays in one piece: waiting for it does not become shorter." in notes
    assert "3,000 of the line's 3,700 contended samples have other causes and stay." in notes


def test_a_member_that_comes_to_lie_on_two_lines_is_told() -> None:
    """Objects begin with a line: ``list`` begins the second one, until what goes away in front of it draws it up."""
    layout = struct("s", scalar("hot"), scalar("seq"), scalar("rest", 48), scalar("list", 16), scalar("end"), align=64)
    found = propose(meeting(layout, "hot", "seq"), table(layout))
    told = "Puts on two cache lines: list (in 100% of the phases, 0% before)."
    assert found[0].split == told in found[0].notes
    still = struct("s", *layout.members[:4], scalar("end"), align=8)
    assert {one.split for one in propose(meeting(still, "hot", "seq"), table(still))} == {""}


def test_a_record_that_is_perhaps_another_is_in_doubt_wherever_the_candidate_is_told() -> None:
    layout, layouts = address_space()
    line = meeting(layout, "i_mmap_rwsem", "i_mmap", phase=16, samples=3700)
    misfit = "what is touched at 0x8 hardly fits it: the type may be laid out otherwise there"
    found = propose(replace(line, objects=(replace(line.objects[0], doubt=misfit),)), layouts)[0]
    assert found.doubt == f"Whether struct address_space lies on the line as told is in doubt: {misfit}."
    assert found.notes[0] == found.doubt
    assert saved(found).certainty == "perhaps"
    assert found.recommended.startswith("Perhaps ")
    assert propose(line, layouts)[0].doubt == ""


def doubtful(line: Finding, *names: str) -> Finding:
    """The line, with members that may be others in the build that was profiled."""
    return replace(line, members=tuple(replace(one, doubted=one.path in names) for one in line.members))


def counters() -> tuple[Layout, LayoutTable]:
    """A counter behind cold members, with a hole before it that holds what others read behind it."""
    layout = struct("group", scalar("name", 104), scalar("load", align=64), scalar("rcu", 16), scalar("tail", 104))
    return layout, table(layout)


def test_of_a_pair_with_one_member_in_doubt_the_other_one_moves() -> None:
    """Whatever else stands beside the counter in the build of the profile, it stays off the counter's line then."""
    layout, layouts = counters()
    line = meeting(layout, "load", "rcu")
    assert "rcu" in [one.moves[0].member for one in propose(line, layouts)]
    movers = [
        {name for move in one.moves for name in (move.member, *move.members)}
        for one in propose(doubtful(line, "rcu"), layouts)
    ]
    assert movers
    assert all("load" in names for names in movers)


def test_nothing_is_recommended_that_rests_on_members_in_doubt_alone() -> None:
    layout, layouts = counters()
    line = doubtful(meeting(layout, "load", "rcu"), "rcu", "load")
    given = proposal(line, layouts, 5, (), NO_PREMISES)
    assert not any(one.recommended for one in given.candidates)
    assert given.declined == (
        "Nothing is recommended: the candidates rest on load, rcu, and it is in doubt that load, rcu were sampled;"
        " give the vmlinux of the kernel that was profiled."
    )


def test_one_contended_access_with_another_cause_has_the_words_for_one() -> None:
    layout, layouts = address_space()
    pair = ConflictPair("i_mmap", "i_mmap_rwsem", "i_mmap_rwsem", 3699)
    line = meeting(layout, "i_mmap_rwsem", "i_mmap", phase=16, samples=3700)
    line = replace(line, simulated="8 CPUs", triage=replace(line.triage, pairs=(pair,)))
    notes = propose(line, layouts)[0].notes
    assert "1 of the line's 3,700 contended accesses has another cause and stays." in notes


def test_contended_samples_that_the_profile_gives_no_member_are_not_said_to_stay() -> None:
    layout, layouts = address_space()
    line = meeting(layout, "i_mmap_rwsem", "i_mmap", phase=16, samples=6084)
    notes = propose(replace(line, contended=9520), layouts)[0].notes
    unknown = "3,436 of the line's 9,520 contended samples are of no known member; what becomes of them is not known."
    assert [note for note in notes if "of the line's" in note] == [unknown]


def test_smaller_changes_come_first_and_none_grows_for_nothing() -> None:
    found = contended_address_space()
    assert [one.moves[0].kind for one in found] == sorted(
        (one.moves[0].kind for one in found), key=[MoveKind.MOVE, MoveKind.SWAP, MoveKind.ALIGN].index
    )
    # An alignment would cost memory and remove no more than a move does.
    assert [one for one in found if one.after.size > one.before.size] == []


def test_no_two_candidates_are_the_same_layout() -> None:
    found = contended_address_space()
    assert len({tuple(sorted(offsets(one.after).items())) for one in found}) == len(found)


def test_limit_bounds_the_number() -> None:
    layout, layouts = address_space()
    line = meeting(layout, "i_mmap_rwsem", "i_mmap", phase=16)
    assert [len(propose(line, layouts, limit)) for limit in (5, 1)] == [2, 1]


def test_dentry_parts_its_lock_from_what_lookups_read() -> None:
    d_lockref, lockref = lock("d_lockref", 8, "lockref")
    either = union("", scalar("d_lru", 16), scalar("d_wait"))
    layout = struct(
        "dentry",
        *(scalar("d_flags", 4), scalar("d_seq", 4), scalar("d_hash", 16), scalar("d_parent"), scalar("d_name", 16)),
        *(scalar("d_inode"), scalar("d_iname", 32), d_lockref, scalar("d_op"), scalar("d_sb"), scalar("d_time")),
        *(scalar("d_fsdata"), held("", either), scalar("d_child", 16), scalar("d_subdirs", 16), scalar("d_u", 16)),
    )
    first = propose(meeting(layout, "d_lockref", "d_name", "d_inode", phase=40 - 8), table(layout, lockref, either))[0]
    assert (len(first.moves), first.after.size, parted(first)) == (1, 192, True)


def test_dst_entry_parts_the_reference_count_from_the_state_behind_it() -> None:
    layout = struct(
        "dst_entry",
        *(scalar(name) for name in ("dev", "ops", "_metrics", "expires", "xfrm", "input", "output")),
        *(scalar(name, 2) for name in ("flags", "obsolete", "header_len", "trailer_len")),
        *(
            scalar("__refcnt", 4),
            scalar("__use", 4),
            scalar("lastuse"),
            scalar("lwtstate"),
            scalar("callback_head", 16),
        ),
        *(scalar("error", 2), scalar("__pad", 2), scalar("tclassid", 4)),
    )
    first = propose(meeting(layout, "__refcnt", "lwtstate"), table(layout))[0]
    assert (moved(first)[0][1], first.after.size, parted(first)) == ("lwtstate", 112, True)


def test_task_group_parts_the_load_from_the_readers_behind_it() -> None:
    layout = struct(
        "task_group",
        *(scalar("css", 200), scalar("se"), scalar("cfs_rq"), scalar("shares"), scalar("idle", 4)),
        *(scalar("load_avg", 8, align=64), scalar("rt_se"), scalar("rt_rq"), scalar("rt_bandwidth", 104)),
        *(scalar("rcu", 16), scalar("list", 16), scalar("parent"), scalar("siblings", 16), scalar("children", 16)),
        *(scalar("autogroup"), scalar("cfs_bandwidth", 240)),
    )
    first = propose(meeting(layout, "load_avg", "rt_se", "rt_rq"), table(layout))[0]
    assert len(first.moves) == 1
    assert parted(first)
    assert first.after.size <= layout.size


def test_a_struct_of_one_line_can_only_grow() -> None:
    rwlock, record = lock("lock", 56, "rwlock")
    layout = struct("maps", scalar("entries"), rwlock)
    found = propose(meeting(layout, "lock", "entries", phase=24), table(layout, record))
    assert [moved(one) for one in found] == [[("align", "lock", 64)]]
    assert (found[0].before.size, found[0].after.size, found[0].lines) == (64, 128, 2)
    assert parted(found[0])
    assert any("allocated at multiples of 64 bytes" in note for note in found[0].notes)


def test_vm_area_struct_parts_a_lock_pulled_in_from_what_faults_read() -> None:
    vm_lock, record = lock("vm_lock", 40)
    names = ("vm_start", "vm_end", "vm_mm", "vm_page_prot", "vm_flags")
    rest = ("anon_vma", "vm_ops", "vm_pgoff", "vm_file", "vm_private_data", "swap_readahead_info", "vm_policy")
    layout = struct(
        "vm_area_struct",
        *(scalar(name) for name in names),
        vm_lock,
        *(scalar("shared", 32), scalar("anon_vma_chain", 16)),
        *(scalar(name) for name in rest),
    )
    first = propose(meeting(layout, "vm_lock", "vm_start", "vm_flags"), table(layout, record))[0]
    assert (moved(first)[0][1], parted(first), first.after.size) == ("vm_lock", True, layout.size)


def test_a_hole_that_fits_is_filled_and_nothing_else_moves() -> None:
    layout = struct("s", scalar("a", 4), scalar("b", 64), scalar("reader"), scalar("seq", 4))
    first = propose(meeting(layout, "seq", "reader"), table(layout))[0]
    assert moved(first) == [("move into a hole", "seq", "a")]
    assert offsets(first.after) == {"a": 0, "seq": 4, "b": 8, "reader": 72}
    assert (first.before.size, first.after.size) == (88, 80)


def test_two_moves_follow_where_one_does_not_part_every_pair() -> None:
    layout = struct("s", scalar("one"), scalar("writer"), scalar("two"), scalar("three"), scalar("cold", 88))
    pairs = [ConflictPair("one", "writer", "writer", 90), ConflictPair("three", "two", "three", 90)]
    seen = [hot(name, 8 * at, 8, 90, 90) for at, name in enumerate(("one", "writer", "two", "three"))]
    first, *rest = propose(finding(layout, seen, pairs), table(layout), limit=20)
    assert (len(first.moves), parted(first), first.after.size) == (2, True, layout.size)
    assert first.recommended.endswith("2 members move, the size stays; a smaller change would take away 90.")
    assert any(len(one.moves) == 1 for one in rest)


def test_a_candidate_keeps_clear_of_members_hot_on_another_line() -> None:
    cold = [scalar(f"cold{number}") for number in range(14)]
    layout = struct("s", scalar("reader"), scalar("writer"), *cold, scalar("busy"))
    line = meeting(layout, "writer", "reader")
    other = finding(layout, [hot("busy", offsets(layout)["busy"], 8, reads=90)], rank=1)
    alone = propose(line, table(layout))[0]
    beside = propose(line, table(layout), others=[other])[0]
    assert gap(alone.after, "writer", "busy") < 56
    assert gap(beside.after, "writer", "busy") >= 56
    assert parted(beside)


def test_members_of_an_anonymous_struct_move_inside_it() -> None:
    names = ["count", *(f"cold{number}" for number in range(8))]
    inner = struct("", scalar("map_lock"), *(scalar(name) for name in names))
    layout = struct("mm_struct", held("", inner), scalar("bitmap", 8, dimensions=(1,)))
    seen = [hot("map_lock", 0, 8, writes=50, lock=True), hot("count", 8, 8, reads=50)]
    line = finding(layout, seen, [ConflictPair("count", "map_lock", "map_lock", 50)])
    first = propose(line, table(layout, inner))[0]
    assert (first.type, first.before.name, parted(first)) == ("mm_struct", "", True)
    assert first.after.size == inner.size


def test_members_of_a_part_with_a_tag_are_not_moved() -> None:
    inner = struct("head", scalar("map_lock"), scalar("count"), *(scalar(f"cold{number}") for number in range(8)))
    layout = struct("mm_struct", held("", inner), scalar("bitmap", 8, dimensions=(1,)))
    seen = [hot("map_lock", 0, 8, writes=50, lock=True), hot("count", 8, 8, reads=50)]
    line = finding(layout, seen, [ConflictPair("count", "map_lock", "map_lock", 50)])
    with pytest.raises(NothingToSuggest, match=r"parts of one union or record .*, which moves as a whole"):
        propose(line, table(layout, inner))


def test_bit_fields_move_as_one() -> None:
    layout = struct("s", scalar("writer"), bits("a", 3), bits("b", 5), scalar("cold", 92))
    seen = [hot("writer", 0, 8, writes=50), hot("a", 8, 1, reads=50)]
    found = propose(finding(layout, seen, [ConflictPair("writer", "a", "writer", 50)]), table(layout))
    both = [move for one in found for move in one.moves if move.member == "a" and move.kind is not MoveKind.SWAP]
    assert both
    assert all(move.members == ("a", "b") for move in both)


def test_every_candidate_holds_every_member_once() -> None:
    candidates = contended_address_space()
    assert candidates
    for candidate in candidates:
        assert sorted(offsets(candidate.before)) == sorted(offsets(candidate.after))


def test_a_hole_is_not_filled_by_growing() -> None:
    layout = struct("s", scalar("a"), scalar("writer", 4), scalar("b", 4), scalar("rest", 48), align=16)
    found = propose(meeting(layout, "writer", "a"), table(layout))
    assert all(one.after.size <= layout.size for one in found for move in one.moves if move.kind is MoveKind.FILL_HOLE)


def test_an_inner_type_of_several_lines_can_be_rearranged_on_its_own() -> None:
    layout, layouts = address_space()
    line = meeting(layout, "i_mmap_rwsem", "i_mmap", phase=16)
    inner = replace(line.objects[0], outcome=Outcome.INNER_TYPE_ONLY, containers=("inode", "shmem_inode_info"))
    first = propose(replace(line, objects=(inner,)), layouts)[0]
    assert moved(first) == [("move", "i_mmap_rwsem", "private_data")]
    assert "Also part of inode, shmem_inode_info, whose objects decide the phase." in first.notes


def test_an_alignment_that_had_to_be_inferred_is_told() -> None:
    told = struct("s", scalar("reader"), scalar("writer"), scalar("aside", 8, align=64), scalar("cold", 120))
    silent = replace(told, members=tuple(replace(member, alignment=None) for member in told.members), alignment=None)
    first = propose(meeting(silent, "writer", "reader"), table(silent))[0]
    assert "The alignment of aside is inferred from the offsets; the source may ask for less." in first.notes
    assert [member.alignment for member in first.after.members] == [None] * 4


def test_a_single_move_stays_first_where_a_second_would_do_little_more() -> None:
    names = ("one", "writer", "two", "rare")
    layout = struct("s", *(scalar(name) for name in names), scalar("cold", 88))
    pairs = [ConflictPair("one", "writer", "writer", 970), ConflictPair("two", "rare", "rare", 20)]
    counts = ((970, 0), (0, 970), (20, 0), (0, 20))
    seen = [hot(name, 8 * at, 8, *count) for at, (name, count) in enumerate(zip(names, counts, strict=True))]
    first = propose(finding(layout, seen, pairs), table(layout))[0]
    assert [move.member for move in first.moves] == ["writer"]
    assert first.recommended.endswith("one member moves, the size stays; a larger one would take away 20 more.")
