# SPDX-License-Identifier: GPL-2.0-or-later
"""What an aligned or larger member does to the records around its own, against what a compiler makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled
from hand_made import held, meeting, scalar, struct, table

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.errors import NothingToSuggest
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Move, MoveKind, Searching, SlabMachine
from linesmith.analyzer.slab import Kernel
from linesmith.tuner.candidates import proposal
from linesmith.tuner.cost.phase_mixes import PhaseMixes
from linesmith.tuner.holders import Holders
from linesmith.tuner.merit import merit
from linesmith.tuner.premises import Premises
from linesmith.tuner.search import fits
from linesmith.tuner.space.composition import Choice, composed
from linesmith.tuner.space.proposals import proposals
from linesmith.tuner.subject import subject

SOURCE = """
struct map {{ long host; {member}; long tail[6]; }};
struct inode {{ long mode; struct map data; long end; }};
struct several {{ char tag; struct map maps[3]; int count; }};
union either {{ struct map map; char bytes[100]; }};
struct around {{ int id; struct {{ int kind; struct inode inode; }}; union either either; }};
struct packed {{ char tag; struct map map; }} __attribute__((packed));
struct beside {{ struct map *map; long own; }};
struct inode inode; struct several several; struct around around; struct packed packed; struct beside beside;
"""
PLAIN = "long lock"
KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 1)))


def built(folder: Path, member: str, name: str) -> Layouts:
    return read_layouts(compiled(folder, SOURCE.format(member=member), name=name)).layouts


def sizes(layouts: Layouts) -> dict[str, int]:
    names = ("inode", "several", "either", "around", "packed", "beside")
    return {found.title: found.size for name in names for found in layouts.variants(name)}


@pytest.mark.parametrize(
    ("member", "granule"),
    [("long lock __attribute__((aligned(64)))", 64), ("long lock[3]", 8), ("long lock[2]", 8)],
    ids=["aligned", "24 bytes", "16 bytes"],
)
def test_every_record_around_it_is_as_large_as_the_compiler_makes_it(tmp_path: Path, member: str, granule: int) -> None:
    before, after = built(tmp_path, PLAIN, "before"), built(tmp_path, member, "after")
    old, new = before.variants("map")[0], after.variants("map")[0]
    found = Holders(old, before, None).changes(granule, new.size - old.size)
    really = {title: size for title, size in sizes(after).items() if size != sizes(before)[title]}
    # Whoever packs a record keeps to offsets: proposals do not let what is in it grow, and an alignment ends there.
    really.pop("struct packed", None)
    assert {one.record: one.after for one in found} == really
    assert {one.record: one.before for one in found}.items() <= sizes(before).items()
    assert "struct beside" not in really


def test_what_keeps_its_size_and_alignment_changes_nothing_around_it(tmp_path: Path) -> None:
    layouts = built(tmp_path, PLAIN, "before")
    assert Holders(layouts.variants("map")[0], layouts, None).changes(8, 0) == ()


def mapping() -> Layout:
    """A record of whole lines whose second member can begin one without a byte more."""
    return struct("map", scalar("host"), scalar("lock"), scalar("tree"), *(scalar(f"cold{at}") for at in range(13)))


def in_inode(record: Layout) -> Layout:
    return struct("ext4_inode_info", scalar("own", 40), held("i_data", record), scalar("tail"))


def test_objects_of_a_slab_cache_are_counted() -> None:
    layout = mapping()
    [found] = Holders(layout, table(layout, in_inode(layout)), KERNEL).changes(64, 0)
    assert (found.record, found.before, found.after) == ("struct ext4_inode_info", 176, 256)
    assert found.memory is not None
    # A word for the free pointer is behind each object: 184 and 264 bytes apart.
    before, after = found.memory
    assert (before.cache, before.stride, after.stride) == ("ext4_inode_cache", 184, 264)
    assert after.objects_per_slab << before.order < before.objects_per_slab << after.order


def test_a_cache_that_asks_for_no_alignment_does_not_keep_it() -> None:
    layout = mapping()
    mixes = PhaseMixes(layout, table(layout, in_inode(layout)), KERNEL)
    assert (mixes.starts(64).step, mixes.loose(64)) == (8, ("ext4_inode_cache",))
    assert (mixes.starts(8).step, mixes.loose(8)) == (8, ())


def test_a_cache_that_keeps_the_alignment_is_not_named() -> None:
    layout = mapping()
    dentry = struct("dentry", scalar("own", 40), held("map", layout))
    mixes = PhaseMixes(layout, table(layout, dentry), KERNEL)
    assert (mixes.starts(64).step, mixes.loose(64)) == (64, ())


# The lock at the front, at the beginning of a line: the record keeps its 128 bytes.
FRONT = Choice("front", (Move(MoveKind.MOVE, "lock"), Move(MoveKind.ALIGN, "lock", align=64)))


def test_a_layout_of_the_old_size_is_refused_where_a_record_around_it_may_not_grow() -> None:
    layout = mapping()
    line = meeting(layout, "lock", "host")
    alone = composed(subject(line, table(layout)), [FRONT], growth=0)
    assert (alone.size, alone.granule) == (128, 64)
    target = subject(line, table(layout, in_inode(layout)))
    told = "struct ext4_inode_info, which holds struct map, would grow from 176 to 256 bytes, but may not grow"
    with pytest.raises(NothingToSuggest, match=f"^{told}$"):
        composed(target, [FRONT], growth=0)
    assert composed(target, [FRONT], growth=80).size == 128


def test_a_point_of_the_search_says_what_grows_around_the_record() -> None:
    layout = mapping()
    line, layouts = meeting(layout, "lock", "host"), table(layout, in_inode(layout))
    still = proposals([line], layouts, Searching(growth=0))
    grown = proposals([line], layouts, Searching(growth=80))
    told = "around it grow struct ext4_inode_info from 176 to 256 bytes"
    assert not [point for point in still.legality.options if told in still.describe(point)]
    assert [point for point in grown.legality.options if told in grown.describe(point)]


@pytest.mark.parametrize(("growth", "legal"), [(None, True), (0, False), (79, False), (80, True)])
def test_growth_that_is_forbidden_is_forbidden_around_the_record_too(growth: int | None, legal: bool) -> None:
    layout = mapping()
    target = subject(
        meeting(layout, "lock", "host"),
        table(layout, in_inode(layout)),
        premises=Premises(kernel=KERNEL, growth=growth),
    )
    option = composed(target, [FRONT], growth=1 << 20)
    assert option.size == layout.size
    assert fits(target, option) is legal


def test_a_change_that_makes_a_record_around_it_larger_has_a_price() -> None:
    layout = mapping()
    target = subject(meeting(layout, "lock", "host"), table(layout, in_inode(layout)), premises=Premises(kernel=KERNEL))
    option = composed(target, [FRONT], growth=1 << 20)
    found = merit(target, option, best=0.0)
    assert (found.growth, found.held, found.effort[0]) == (0, 80, True)
    # 44 objects on two pages, then 31.
    assert found.heavier == pytest.approx(66 / 46 - 1)


def test_of_two_changes_that_part_as_much_the_one_that_costs_nothing_around_it_is_recommended() -> None:
    layout = mapping()
    found = proposal(
        meeting(layout, "lock", "host"), table(layout, in_inode(layout)), 20, (), Premises(kernel=KERNEL)
    ).candidates
    assert found[0].recommended
    assert not found[0].holders
    assert found[0].recommended.count("the size stays")


def test_records_held_by_hundreds_around_each_other_are_not_followed_to_the_last() -> None:
    """Each holds the one before and the innermost: only damaged debug information nests so."""
    innermost = struct("r0", scalar("first"))
    nested = [innermost]
    for number in range(1, 700):
        members = [held("inner", nested[-1]), *([held("first", innermost)] if number == 699 else [])]
        nested.append(struct(f"r{number}", *members))
    grown = Holders(innermost, table(*nested), None).largest(64, 0)
    assert grown is not None
    assert grown.after > grown.before
