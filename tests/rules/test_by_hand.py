# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules say of changes: those of the tables in C, by ``rule_tables``, and those that no table can show.

These are of many holders, facts of the source, damaged names, and records at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import c_layouts
import pytest
from c_source import compiled
from hand_made import held, scalar, struct, union
from hypothesis import given, settings
from hypothesis import strategies as st
from linesmith_command import linesmith
from rule_tables import KERNEL, NAMED, Case, alone, before_and_now, broken, cases, changed, violations

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.gaps import Span, meet, phases
from linesmith.analyzer.lint.rules.catalogue import RULES, LintedBuild, LintedRecord, RecordVersion
from linesmith.analyzer.model import (
    FactKind,
    Isolation,
    Layout,
    Member,
    MemberGroup,
    SizeBudget,
    SourceFact,
    TypeIntent,
    Violation,
)

HOT = struct("subject", scalar("hot"))


def apart(**said: Any) -> tuple[TypeIntent, ...]:
    return (TypeIntent("subject", "measured", isolations=(Isolation(("hot",), **said),)),)


def held_in(*more: Member, name: str = "holder", align: int | None = None) -> Layout:
    return struct(name, held("first", HOT), *more, align=align)


def test_what_the_base_had_is_not_told_between_two_builds() -> None:
    near, far = scalar("near"), scalar("far")
    old, new = held_in(near, align=64), held_in(near, far, align=64)
    fresh = held_in(far, name="fresh", align=64)
    (one,) = broken("isolation-broken", before_and_now((HOT, old), (HOT, new, fresh), "asked", apart()))
    assert one.type == "struct fresh"


def test_more_objects_than_before_are_told() -> None:
    old, new = held_in(scalar("near", align=32)), held_in(scalar("near"))
    (one,) = broken("isolation-broken", before_and_now((HOT, old), (HOT, new), "asked", apart()))
    assert one.message.startswith("can share a line with near in 7 of 8 phases")


@pytest.mark.parametrize("count", [32, 40])
def test_of_many_holders_those_beyond_32_are_counted(count: int) -> None:
    many = [held_in(scalar("near"), name=f"holder{number}") for number in range(count)]
    found = broken("isolation-broken", alone(HOT, *many, tuned="asked", intents=apart()))
    assert len({one.type for one in found[:32]}) == 32
    rest = [(one.type, one.message) for one in found[32:]]
    said = ("struct subject", "is not alone in 8 more places where other records hold it")
    assert rest == ([said] if count > 32 else [])


@settings(max_examples=40)
@given(st.integers(0, 20), st.sampled_from((64, 128)), st.booleans())
def test_a_neighbour_is_told_for_exactly_the_gaps_that_allow_it(words: int, size: int, held_by_value: bool) -> None:
    gap = [scalar("gap", 8 * words, dimensions=(words,))] if words else []
    if held_by_value:
        layouts, wanted = [HOT, held_in(*gap, scalar("cold"))], apart(bytes=size)
    else:
        layouts = [struct("subject", scalar("hot"), *gap, scalar("cold"))]
        wanted = apart(apart_from=("cold",), bytes=size)
    found = broken("isolation-broken", alone(*layouts, tuned="asked", intents=wanted))
    meets = any(meet(Span(0, 8), Span(8 * (words + 1), 8), size, phase) for phase in phases(8, size))
    assert any("cold" in one.subject.split(", ") for one in found) == meets


def test_alignment_that_only_one_of_the_builds_states_is_not_new(tmp_path: Path) -> None:
    """BTF states none, and no files either."""
    both = changed(tmp_path, "u64 read, written, more;", "u64 read; CACHELINE_PADDING(_pad_); u64 written, more;")
    assert both.before is not None
    unstated = replace(both.before, layout=replace(both.before.layout, file=""))
    assert broken("isolation-new", replace(both, before=unstated)) == []


def test_the_way_to_a_record_through_unions_of_unions_is_looked_for_once_in_each() -> None:
    layouts = [HOT]
    for level in range(14):
        layouts.append(union(f"level{level}", held("one", layouts[-1]), held("two", layouts[-1])))
    assert broken("isolation-broken", alone(*layouts, tuned="asked", intents=apart())) == []


def test_what_is_relied_on_to_be_at_its_offset_is_not_shifted(tmp_path: Path) -> None:
    change = changed(tmp_path, "u64 links, seq, late;", "u64 links; u32 state; u64 seq; u32 flags; u64 late;")
    assert [one.member for one in broken("avoidable-hole", change)] == ["flags"]
    facts = (SourceFact(FactKind.OFFSET, ("late",), "asserted"),)
    assert broken("avoidable-hole", replace(change, facts=facts)) == []


def test_members_that_damaged_debug_information_has_no_names_of_go_by_their_numbers() -> None:
    links, state, seq, nameless, flags = (scalar(*one) for one in (("l", 8), ("s", 4), ("q", 8), ("", 8), ("f", 4)))
    old, new = struct("any", links, seq, nameless), struct("any", links, state, seq, nameless, flags)
    (one,) = broken("avoidable-hole", before_and_now((old,), (new,), NAMED))
    assert one.member == "f"


def test_a_stale_intent_is_told_at_its_entry(tmp_path: Path) -> None:
    (found,) = broken("intent-stale", changed(tmp_path, "u64 second;", "u64 seconds;", '? hot = ["second"]'))
    assert (found.file, found.line) == ("linesmith.toml", 1)


EITHER = union("", scalar("word"), scalar("count"))


def judged(old: str, new: str, *given: str, kind: FactKind = FactKind.POSITIONAL) -> list[Violation]:
    """What is said where members are ``given`` by position, or by position and place; ``?`` is a union without name."""
    records = [
        struct("ops", *(held("", EITHER) if one == "?" else scalar(one) for one in names)) for names in (old, new)
    ]
    facts = [
        SourceFact(kind, tuple(one[0]), "", one[2] or "init.c:7") for one in (each.partition("@") for each in given)
    ]
    subject = before_and_now((records[0], EITHER), (records[1], EITHER))
    return broken("positional-initialiser", replace(subject, facts=tuple(facts)))


@pytest.mark.parametrize(
    ("old", "new", "given", "said"),
    [
        ("abc", "acb", "abc", "c is member 2 now instead of b, and init.c:7 gives the first 3 members by position"),
        ("ab", "xab", "x", "x is member 1 now instead of a, and init.c:7 gives the first member by position"),
        ("abcd", "abdc", "abcd", "d is member 3 now instead of c, and init.c:7 gives the first 4 members by position"),
        ("abcd", "abdc", "ab", ""),  # behind the members that are given any order will do
        ("abc", "cb", "a", ""),  # a member that is gone is given by nobody
        (
            "a?b",
            "ab?",
            "ab",
            "b is member 2 now instead of (an anonymous union), and init.c:7 gives the first 2 members by position",
        ),
    ],
)
def test_the_first_member_that_came_to_another_position_is_told(old: str, new: str, given: str, said: str) -> None:
    assert [f"{one.member} {one.message}" for one in judged(old, new, given)] == ([said] if said else [])


def test_a_file_is_told_once_and_other_reasons_to_keep_an_order_are_no_initialisers() -> None:
    found = judged("abc", "acb", "abc", "abc@init.c:9", "abc@other.c:3")
    assert [one.subject for one in found] == ["init.c", "other.c"]
    assert judged("abc", "acb", "abc", kind=FactKind.RANGE) == []


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_move_that_is_advised_gives_the_size_that_is_promised(tmp_path: Path, compiler: str) -> None:
    members = {
        "before": "long next; int state, tag; long window[6];",
        "holed": "long next; int state; long window[6]; int flags;",
        "moved": "long next; int state; int flags; long window[6];",
    }
    built = {
        name: compiled(tmp_path, f"struct request {{ {text} }} request;", compiler=compiler, name=name)
        for name, text in members.items()
    }
    holed, moved = (
        linesmith("lint", "--base", built["before"], "--head", built[name], "--type", "request", cache=tmp_path).stdout
        for name in ("holed", "moved")
    )
    assert "flags behind state would make it 64 bytes instead of 72 and 1 of 2 cache lines" in holed
    assert "avoidable-hole" not in moved
    assert "/* size: 64, " in linesmith("layout", built["moved"], "request", cache=tmp_path).stdout


# Every rule on records at random, sound and damaged: it says something or nothing, and never fails

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


# What each rule says of changes of a struct in C: the tables in the folder tables, one for each rule

TABLES = sorted(Path(__file__).with_name("tables").glob("*.txt"))


@pytest.mark.parametrize(("rule", "case"), [case for table in TABLES for case in cases(table)])
def test_a_rule_says_what_its_table_has(tmp_path: Path, rule: str, case: Case) -> None:
    assert violations(rule, case, tmp_path) == case.told
