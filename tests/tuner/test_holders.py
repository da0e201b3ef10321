# SPDX-License-Identifier: GPL-2.0-or-later
"""What an aligned or larger member does to the records around its own, against what a compiler makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled
from hand_made import held, meeting, scalar, struct, table

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Layout, Searching, SlabMachine
from linesmith.analyzer.slab.allocation import Kernel
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.propose.candidates import proposal
from linesmith.tuner.propose.phases import PhaseMixes
from linesmith.tuner.propose.subject import Holders
from linesmith.tuner.space.proposals import proposals

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
KERNEL = Premises(kernel=Kernel(SlabMachine(cpus=8, release=(6, 1))))


def built(folder: Path, member: str) -> tuple[Layouts, dict[str, int]]:
    """The layouts of the source with this member, and the sizes of the records around ``map``."""
    layouts = read_layouts(compiled(folder, SOURCE.format(member=member))).layouts
    names = ("inode", "several", "either", "around", "packed", "beside")
    return layouts, {found.title: found.size for name in names for found in layouts.variants(name)}


@pytest.mark.parametrize(
    ("member", "granule"),
    [("long lock __attribute__((aligned(64)))", 64), ("long lock[3]", 8), ("long lock[2]", 8), ("long lock", 8)],
    ids=["aligned", "24 bytes", "16 bytes", "as it was"],
)
def test_every_record_around_it_is_as_large_as_the_compiler_makes_it(tmp_path: Path, member: str, granule: int) -> None:
    (before, old_sizes), (after, new_sizes) = built(tmp_path, "long lock"), built(tmp_path, member)
    old, new = before.variants("map")[0], after.variants("map")[0]
    found = Holders(old, before, None).changes(granule, new.size - old.size)
    really = {title: size for title, size in new_sizes.items() if size != old_sizes[title]}
    # Whoever packs a record keeps to offsets: proposals do not let what is in it grow, and an alignment ends there.
    really.pop("struct packed", None)
    assert {one.record: one.after for one in found} == really
    assert {one.record: one.before for one in found}.items() <= old_sizes.items()
    assert "struct beside" not in really


# A record of whole lines whose second member can begin one without a byte more.
MAP = struct("map", scalar("host"), scalar("lock"), scalar("tree"), *(scalar(f"cold{at}") for at in range(13)))
INODE = struct("ext4_inode_info", scalar("own", 40), held("i_data", MAP), scalar("tail"))
DENTRY = struct("dentry", scalar("own", 40), held("map", MAP))
LINE = meeting(MAP, "lock", "host")


def test_objects_of_a_slab_cache_are_counted() -> None:
    [found] = Holders(MAP, table(MAP, INODE), KERNEL.kernel).changes(64, 0)
    assert (found.record, found.before, found.after) == ("struct ext4_inode_info", 176, 256)
    assert found.memory is not None
    # A word for the free pointer is behind each object: 184 and 264 bytes apart.
    before, after = found.memory
    assert (before.cache, before.stride, after.stride) == ("ext4_inode_cache", 184, 264)
    assert after.objects_per_slab << before.order < before.objects_per_slab << after.order


@pytest.mark.parametrize(
    ("outer", "granule", "step", "loose"),
    [(INODE, 64, 8, ("ext4_inode_cache",)), (INODE, 8, 8, ()), (DENTRY, 64, 64, ())],
)
def test_a_cache_that_does_not_keep_the_alignment_is_named(
    outer: Layout, granule: int, step: int, loose: tuple[str, ...]
) -> None:
    mixes = PhaseMixes(MAP, table(MAP, outer), KERNEL.kernel)
    assert (mixes.starts(granule).step, mixes.loose(granule)) == (step, loose)


def test_a_point_of_the_search_says_what_grows_around_the_record() -> None:
    told = "around it grow struct ext4_inode_info from 176 to 256 bytes"
    for growth, grows in ((0, False), (79, False), (80, True)):
        found = proposals([LINE], table(MAP, INODE), Searching(growth=growth))
        assert any(told in found.describe(point) for point in found.legality.options) is grows


def test_a_change_that_makes_a_record_around_it_larger_has_a_price() -> None:
    first = proposal(LINE, table(MAP, INODE), 20, (), KERNEL).candidates[0]
    assert not first.holders, "of two that part as much, the one that costs nothing around it comes first"


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
