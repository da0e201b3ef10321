# SPDX-License-Identifier: GPL-2.0-or-later
"""Every rule on records at random, sound and damaged: it says something or nothing, and never fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import c_layouts
from hand_made import held, scalar, struct
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import KERNEL, before_and_now

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.lint.rules.catalogue import RULES, LintedBuild, LintedRecord, RecordVersion
from linesmith.analyzer.model import Isolation, Layout, Member, MemberGroup, SizeBudget, TypeIntent

# Names that the kernel gives records with slab caches, locks, and markers of groups.
RECORDS = ("inode", "vmap_area", "spinlock", "rw_semaphore", "subject")
MEMBERS = ("m0", "m1", "m2", "__cacheline_group_begin__tx", "__cacheline_group_end__tx", "i_lock", "i_mmap", "")
PATHS = st.lists(st.sampled_from(("m0", "m1", "m2", "m0.m1", "m1[2].m0", "i_lock", "none", "")), max_size=3).map(tuple)
BYTES = st.integers(0, 300)


@st.composite
def renamed(draw: st.DrawFn) -> LayoutTable:
    """Sound records under names that mean something to a rule."""
    return LayoutTable(_renamed(draw, layout) for layout in draw(c_layouts.nested()))


@st.composite
def damaged(draw: st.DrawFn) -> LayoutTable:
    """Records with sizes and offsets that no compiler gives."""
    return LayoutTable(
        replace(
            _renamed(draw, layout),
            size=draw(BYTES),
            alignment=draw(st.sampled_from((None, 1, 64, 4096))),
            members=tuple(_damaged(draw, one) for one in layout.members),
        )
        for layout in draw(c_layouts.nested())
    )


def _renamed(draw: st.DrawFn, layout: Layout) -> Layout:
    members = tuple(replace(one, name=draw(st.sampled_from(MEMBERS))) for one in layout.members)
    return replace(layout, name=draw(st.sampled_from(RECORDS)), members=members)


def _damaged(draw: st.DrawFn, member: Member) -> Member:
    bits = draw(st.none() | st.integers(0, 70))
    return replace(
        member,
        name=draw(st.sampled_from(MEMBERS)),
        offset=draw(BYTES),
        size=draw(BYTES),
        alignment=draw(st.sampled_from((None, 8, 64))),
        dimensions=draw(st.sampled_from(((), (0,), (3,)))),
        bit_offset=None if bits is None else draw(BYTES),
        bit_size=bits,
    )


INTENTS = st.builds(
    TypeIntent,
    st.sampled_from(RECORDS),
    st.just("measured"),
    groups=st.lists(
        st.builds(MemberGroup, st.sampled_from(("tx", "rx")), PATHS, lines=st.none() | BYTES), max_size=2
    ).map(tuple),
    isolations=st.lists(st.builds(Isolation, PATHS, PATHS, st.sampled_from((64, 128))), max_size=2).map(tuple),
    budget=st.builds(SizeBudget, st.none() | BYTES, st.none() | BYTES, st.none() | BYTES),
    hot=PATHS,
    read_mostly=PATHS,
    write_hot=PATHS,
)


@settings(max_examples=25)
@given(st.tuples(renamed(), renamed()) | st.tuples(damaged(), damaged()), INTENTS)
def test_no_rule_fails_on_any_two_builds(builds: tuple[LayoutTable, LayoutTable], intent: TypeIntent) -> None:
    old, new = (LintedBuild(layouts, KERNEL) for layouts in builds)
    for before, now in zip(old.layouts, new.layouts, strict=False):
        is_, was = RecordVersion(now, new), RecordVersion(before, old)
        pair = LintedRecord(is_, was, "named by --type", (intent,), base=old)
        same = LintedRecord(is_, is_, "named by --type", base=new)
        for rule in RULES:
            alone = () if rule.pair else rule.check(replace(pair, before=None, base=None))
            assert {one.rule for one in (*rule.check(pair), *alone)} <= {rule.name}
            assert not (rule.pair and list(rule.check(same))), "a record beside itself breaks no rule of two builds"


def doubled(levels: int, innermost: tuple[Layout, ...], make: Callable[[str, Member, Member], Layout]) -> LintedRecord:
    """A record with two parts that have two parts each, and so on: by value 2 to the power of ``levels``."""
    layouts = list(innermost)
    for level in range(levels):
        layouts.append(make(f"level{level}", held("one", layouts[-1]), held("two", layouts[-1])))
    return before_and_now(tuple(layouts[::-1]), tuple(layouts[::-1]), "named by --type")


def test_damage_that_nests_parts_without_bound_is_judged_in_bounded_time() -> None:
    mutex = struct("mutex", scalar("owner"), scalar("waiters", 16))
    locked = struct("inner", held("lock", mutex))
    level = struct("", scalar("x"))
    for deep in (
        doubled(40, (level,), lambda _, one, two: struct("", replace(one, name=""), replace(two, name=""))),
        doubled(18, (mutex, locked), struct),
    ):
        assert [found.rule for rule in RULES for found in rule.check(deep)] == []
