# SPDX-License-Identifier: GPL-2.0-or-later
"""Words of ``hot``, of structural advice and of pages: sentences and rows in the columns there are, counts, guesses."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hand_made import finding, hot, scalar, struct, table
from hypothesis import given
from hypothesis import strategies as st
from linesmith_command import LINESMITH

from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import (
    Access,
    Accessor,
    Bounds,
    CacheLine,
    Conflict,
    ElfIdentity,
    Finding,
    Gain,
    LineCost,
    LineMember,
    LineObject,
    MemberFunction,
    MemoryUse,
    ObjectArea,
    ObjectKind,
    Outcome,
    Profile,
    Recording,
    SharingCost,
    Side,
    SlabBasis,
    StructuralAdvice,
    StructureKind,
    Triage,
    TriageKind,
)
from linesmith.analyzer.report import structure
from linesmith.analyzer.report.findings import ProfileSection, render_lines
from linesmith.analyzer.report.hot import record_rows, render_table
from linesmith.analyzer.report.prose import fitted
from linesmith.analyzer.report.record_words import members_that_meet, what_to_do
from linesmith.analyzer.sharing.findings import findings
from linesmith.analyzer.sharing.records import (
    RecordContention,
    RecordPair,
    SuggestedChange,
    contention_by_record,
)

ELF = ElfIdentity("program", None, "x86_64", "executable", True, 8, True, False)
NOBODY = Profile("test", "", "hitm", ())


def rows(*found: Finding, profile: Profile = NOBODY, columns: int = 100) -> list[str]:
    """The lines in full, as ``hot --full`` shows them."""
    return render_lines(found, ELF, ProfileSection(profile, 1, 1), columns).splitlines()


POOL = finding(struct("pool", scalar("a")), [hot("a", 0, 8, 9)])


def test_figures_stay_below_their_titles_however_long_the_name_of_a_member() -> None:
    members = LineMember("lock", 0, 0, 4, 5, 0, ()), LineMember("by_node.requests_that_had_to_wait", 8, 8, 8, 5, 0, ())
    shown = rows(replace(POOL, members=members))
    at = next(number for number, row in enumerate(shown) if row.startswith("  offset  member "))
    assert shown[at : at + 3] == [
        "  offset  member                             reads  writes  share  functions",
        "     0x0  lock                                   5       -   0.0%",
        "     0x8  by_node.requests_that_had_to_wait      5       -   0.0%",
    ]


def test_what_emulation_makes_hot_and_what_is_not_known_are_a_row_each() -> None:
    queue = ObjectArea(ObjectKind.PER_CPU, "runqueues", 0x1000, 64, 64, 1, ("rq",), cpu=0)
    conflict = Conflict(0, 8, "take", 8, 8, "give", True, local=500)
    lines = [CacheLine(at, at * 0x1000, (Access(0, "take", hitm_local=5),), conflicts=(conflict,)) for at in (1, 2)]
    recording = Recording("qemu", ("storm",), (0, 0), "x86_64")
    profile = Profile("test", "", "hitm", tuple(lines), recording=recording, areas=(queue,))
    found = findings(profile, LayoutTable([]), ())
    shown = render_table(contention_by_record(found, profile), ELF, ProfileSection(profile, 1, 1)).splitlines()
    assert any("not attributed to a record (1 line): no type of the ELF file fits what take" in one for one in shown)
    assert " 50.0%            excluded, hotter under emulation: the scheduler 50.0%" in shown
    assert "    - an object of the scheduler: emulation makes it hotter than hardware does" in rows(
        *found, profile=profile
    )


def record(
    name: str, share: float, removable: float, kind: TriageKind, *pairs: tuple[str, str, int], fixed: bool = False
) -> RecordContention:
    """A record on one line of a profile with 10,000 misses."""
    met = tuple(RecordPair(victim, writer, "store", Bounds(count, count)) for victim, writer, count in pairs)
    known = finding(struct(name, *(scalar(f"m{at}") for at in range(12))), [hot("m0", 0, 8, 9)])
    of = replace(known, cost=LineCost(round(10_000 * share)), simulated="2 CPUs under QEMU")
    limit, misses = Bounds(0, removable), 10_000 * share
    return RecordContention(name, ("slab x",), 1, misses, share, limit, (kind,), met, fixed, findings=(of,))


def test_the_next_command_is_for_all_records_until_it_is_known_which_have_an_answer() -> None:
    """Not for the first record that can be moved, nor for one of which no order of the members removes anything."""
    false, true = TriageKind.FALSE_SHARING, TriageKind.TRUE_SHARING
    fixed = record("page", 0.3, 0.0, false, ("m1", "m0", 3000), fixed=True)
    proxy = record("proxy", 0.08, 0.02, true, ("m0", "m0", 700), ("m1", "m0", 100))
    listener = record("listener", 0.06, 0.05, false, *((f"m{at}", "m0", 70) for at in range(1, 9)))
    small = record("small", 0.009, 0.009, false, ("m1", "m0", 90))
    recording = Recording("qemu", ("storm",), (0, 0), "x86_64")
    shown = ProfileSection(replace(NOBODY, recording=recording), 1, 1)
    text = render_table((fixed, proxy, listener, small), ELF, shown, ("linesmith", "suggest", "program", "profile"))
    assert (
        text.partition(" share")[2]
        == """     false  record, and where    members that meet, writers    kind: what to do
of all   sharing  it lives
 30.0%         -  page: slab x, 1      m1 misses after stores to m0  false sharing: no order helps,
                  line                 by store                      all of it is one line: write
                                                                     m0 less often (a counter: per
                                                                     CPU, a flag: read it first)
  8.0%    ≤ 2.0%  proxy: slab x, 1     m0 is written by several      true sharing: write m0 less
                  line                 CPUs, in store; m1 misses     often (a counter: per CPU, a
                                       after stores to m0            flag: read it first); false
                                                                     sharing: try to separate m0
                                                                     from m1
  6.0%    ≤ 5.0%  listener: slab x, 1  m1, m2 and 6 more miss after  false sharing: try to separate
                  line                 stores to m0 by store         m0 from m1, m2 and 6 more
  0.9%            and 1 more record
 55.1%            on lines that the profile leaves out

most false sharing: listener, at most 5.0% of all misses after stores by other CPUs; suggest tries
  moves and says what they save, how surely, and what they cost in size and memory. Here no layout
  was tried and no source read: nothing is ready to be sent
next: linesmith suggest program profile

listener, with the most false sharing (--type page shows row 1): m1, m2, m3, m4, m5, m6 and 2 more
miss after stores to m0: 560 misses after stores by other CPUs (5.6% of all). The rest: 40 (0.4% of
all) between other members.
"""
    )


FEWER = "write m0 less often (a counter: per CPU, a flag: read it first)"
MOVED = SuggestedChange("move m5 behind m9", "2.1%", first=True)
REFUSED = SuggestedChange("no candidate is better")
COUNTED = SuggestedChange("", "", structure="count m0 per CPU")
SHARDED = SuggestedChange("", "3.0%", structure="shard m0", of=TriageKind.LOCK_CONTENTION)
PUSHED = SuggestedChange("", "", structure="put m0 into an object of its own", of=TriageKind.FALSE_SHARING)


@pytest.mark.parametrize(
    ("said", "kinds", "told"),
    [
        (None, "true, false", f"true sharing: {FEWER}; false sharing: try to separate m0 from m1"),
        (MOVED, "true, false", f"true sharing: {FEWER}; false sharing: move m5 behind m9"),
        (REFUSED, "true, false", f"true sharing: {FEWER}; false sharing: no candidate is better"),
        (COUNTED, "true, false", "true sharing: count m0 per CPU; false sharing: try to separate m0 from m1"),
        (SHARDED, "true, false", "true sharing: shard m0; false sharing: try to separate m0 from m1"),
        (PUSHED, "true, false", f"true sharing: {FEWER}; false sharing: put m0 into an object of its own"),
        (replace(MOVED, structure="count m0 per CPU"), "false, true",
         "false sharing: move m5 behind m9; true sharing: count m0 per CPU"),
        (replace(MOVED, structure="put m0 apart", of=TriageKind.FALSE_SHARING), "true, false",
         f"true sharing: {FEWER}; false sharing: move m5 behind m9, or: put m0 apart"),
        (COUNTED, "lock, true", "lock contention: shard m0 or hold it shorter; true sharing: count m0 per CPU"),
        (SHARDED, "true, lock", f"true sharing: {FEWER}; lock contention: shard m0"),
        (MOVED, "true", f"true sharing: {FEWER}; false sharing: move m5 behind m9"),
        (COUNTED, "false", "false sharing: try to separate m0 from m1; true sharing: count m0 per CPU"),
        (MOVED, "false, straddling", "false sharing: move m5 behind m9; straddling member"),
        (REFUSED, "true", f"true sharing: {FEWER}"),
        (MOVED, "unknown", "false sharing: move m5 behind m9"),
        (REFUSED, "unknown", "unknown"),
    ],
)  # fmt: skip
def test_what_suggest_found_is_the_remedy_for_what_it_changes(
    said: SuggestedChange | None, kinds: str, told: str
) -> None:
    named = [next(one for one in TriageKind if one.value.startswith(kind)) for kind in kinds.split(", ")]
    share = 0.05 * any(kind in kinds for kind in ("false", "straddling"))
    met = () if kinds == "unknown" else (("m0", "m0", 300), ("m1", "m0", 300))
    one = record("listener", 0.06, share, named[0], *met)
    assert what_to_do(replace(one, kinds=tuple(named), suggested=said)) == told


def test_without_a_figure_of_suggest_none_is_promised_and_without_a_change_no_command_repeats_it() -> None:
    def shown(said: SuggestedChange) -> str:
        first = replace(record("page", 0.3, 0.0, TriageKind.TRUE_SHARING, ("m0", "m0", 3000)), suggested=REFUSED)
        second = replace(record("lruvec", 0.06, 0.05, TriageKind.FALSE_SHARING, ("m1", "m0", 560)), suggested=said)
        part, command = ProfileSection(NOBODY, 1, 1), ("linesmith", "suggest", "program", "profile")
        return " ".join(render_table((first, second), ELF, part, command).split())

    asked = "what to do, and what it saves, is what suggest found for this profile"
    again, row = "next: linesmith suggest program profile --type lruvec", "(--type page shows row 1): "
    text = shown(MOVED)
    assert f"{asked}; the largest saving: lruvec, 2.1% of all contended loads {again} " in text
    assert f" lruvec, with the largest saving {row}" in text
    text = shown(replace(MOVED, saves=""))
    assert f"{asked}: a change of lruvec, its saving is not known {again} " in text
    assert f" lruvec, whose change suggest explains {row}" in text
    text = shown(REFUSED)
    assert f"{asked}: no change page: " in text
    assert "next:" not in text


def test_bytes_next_to_a_record_are_no_members_of_it_and_no_order_helps() -> None:
    line = CacheLine(0, 0x1000, (), hitm_local=1000)
    waits = [SharingCost(side("root", 0), side(name, 0), Bounds(300, 300), Bounds(), 64) for name in ("0x30", "sem")]
    cost = LineCost(
        1000, 1.0, removable=Bounds(600, 600), sharings=(waits[0], replace(waits[1], contended=Bounds(9, 9)))
    )
    known = finding(SEM, [hot("root", 0, 8, 500), hot("sem", 8, 8, 9)])
    of = replace(known, rank=0, cost=cost, triage=Triage((TriageKind.FALSE_SHARING,), (), ""))
    (one,) = contention_by_record([of], Profile("test", "", "hitm", (line,)), table(SEM))
    assert (one.several, one.movable) == (True, False)
    assert what_to_do(one) == "several objects: align each to a line of its own"
    assert (
        members_that_meet(one)
        == "root misses after stores to what is at 0x30 of the line; root misses after stores to sem"
    )


SEM = struct("pool", scalar("root"), scalar("sem"), *(scalar(f"m{at}") for at in range(9)))
TEXT = Profile("test", "", "hitm", (CacheLine(0, 0x1000, (), hitm_local=1000),))


def sampled(*members: LineMember, contended: int = 1000, **changes: Any) -> tuple[RecordContention, ...]:
    """A line of a text on which ``root`` waits for ``sem``, and ``sem`` for itself."""
    waits = [SharingCost(side(name, 0), side("sem", 0), Bounds(100, 400), Bounds(), 64) for name in ("root", "sem")]
    cost = LineCost(contended, 1.0, removable=Bounds(100, 700), sharings=tuple(waits))
    kinds = Triage((TriageKind.FALSE_SHARING,), (), "")
    one = replace(finding(SEM, members), rank=0, cost=cost, contended=contended, triage=kinds, **changes)
    return contention_by_record([one], TEXT, table(SEM))


def told(found: tuple[RecordContention, ...]) -> str:
    """The table and the paragraph of such a line, in one row."""
    shown = render_table(found, ELF, ProfileSection(TEXT, 1, 1), ("linesmith", "suggest", "program", "profile"))
    return " ".join(shown.split())


def user(name: str, contended: int, stores: int = 0) -> MemberFunction:
    return MemberFunction(name, contended, stores)


@pytest.mark.parametrize("stores", [40, 0], ids=["stores sampled", "loads only"])
def test_who_spins_on_the_owner_of_a_lock_does_not_write_it(stores: int) -> None:
    """Nor if no store to the word that it looks at was sampled, or no store at all."""
    count = replace(hot("sem", 8, 8, lock=True), writes=stores, functions=(user("down_write", 9, stores),))
    owner = replace(hot("sem", 12, 4, lock=True), functions=(user("rwsem_spin_on_owner", 500),))
    (one,) = sampled(hot("root", 0, 8, 100), count, owner)
    assert [list(pair.stores) for pair in one.pairs] == [["down_write"], ["down_write"]]


def test_only_what_the_text_left_out_is_in_no_row_of_it() -> None:
    """Misses that have several possible writers are in their rows all the same."""
    members = hot("root", 0, 8, 500), replace(hot("sem", 8, 8, 480), writes=9)
    assert "in no row" not in told(sampled(*members, contended=980))
    assert told(sampled(*members)).endswith("The rest: 20 (2.0% of all) in no row of the report, of any member.")


def test_a_member_that_may_be_another_one_is_marked() -> None:
    members = hot("root", 0, 8, 500), replace(hot("sem", 8, 8, 500), writes=9, doubted=True)
    (one,) = sampled(*members)
    assert what_to_do(one) == "false sharing: try to separate sem (?) from root"
    assert members_that_meet(one).startswith("root misses after stores to sem (?)")
    text = told((one,))
    assert text.endswith("may be another member in the build of the report: give its own ELF file to know.")
    assert "most false sharing" not in text, "of what may be another member"


def test_the_table_says_that_a_record_is_in_another_layout_in_the_build_of_the_report() -> None:
    members = hot("root", 0, 8, 500), replace(hot("sem", 8, 8, 500), writes=9)
    (first,) = finding(SEM, members).objects
    shown = ProfileSection(TEXT, 1, 1)
    (here,) = record_rows(sampled(*members), shown)
    (other,) = record_rows(sampled(*members, objects=(replace(first, ways=((8, -8),)),)), shown)
    assert (here.record, other.record) == ("pool: 1 line", "pool in another layout: 1 line")


def test_the_members_of_a_lock_are_no_gain_to_be_had_by_moving_them() -> None:
    """Nor are those of a record of which nobody was seen to write: ``suggest`` refuses both."""
    members = hot("root", 0, 8, 500), replace(hot("sem", 8, 8, 500), writes=9)
    assert "most false sharing: pool" in told(sampled(*members))
    lock = replace(finding(SEM, members).objects[0], type="rw_semaphore")
    assert "most false sharing" not in told(sampled(*members, objects=(lock,)))
    (alone,) = sampled(*members)
    unwritten = replace(alone, pairs=(), kinds=(TriageKind.NO_WRITER,))
    assert "most false sharing" not in told((unwritten,))
    assert what_to_do(unwritten) == "no writer seen: record stores, too"


@pytest.mark.parametrize(
    ("path", "pair", "told"),
    [
        (
            "p.http.cum_req",
            ("p", "p", 9),
            (
                "p.http.cum_req is written by several CPUs, in store",
                "write p.http.cum_req less often (a counter: per CPU, a flag: read it first)",
            ),
        ),
        (
            "head",
            ("head", "head", 9),
            (
                "head is written by several CPUs, in store",
                "write head less often (a counter: per CPU, a flag: read it first)",
            ),
        ),
        (
            "rwsem",
            ("root of the anon_vma at -0x58", "rwsem", 9),
            ("root of the anon_vma before it misses after stores to rwsem by store", ""),
        ),
    ],
    ids=["a member of a struct", "a scalar", "of a neighbour"],
)
def test_a_member_that_meets_is_called_as_the_code_calls_it(
    path: str, pair: tuple[str, str, int], told: tuple[str, str]
) -> None:
    one = record("counters", 0.1, 0.0, TriageKind.TRUE_SHARING, pair)
    member = replace(one.findings[0].members[0], path=path)
    one = replace(one, findings=(replace(one.findings[0], members=(member,)),))
    advice = f"true sharing: {told[1]}" if told[1] else "true sharing"
    assert (members_that_meet(one), what_to_do(one)) == (told[0], advice)


def test_the_advice_is_about_the_members_that_meet_in_its_row() -> None:
    """Also where others wait more often: the second heaviest members that wait for themselves are left out."""
    own = [(f"m{at}", f"m{at}", 900 - at) for at in (1, 2, 3)]
    one = record("proxy", 0.3, 0.1, TriageKind.TRUE_SHARING, *own, ("m4", "m5", 200), ("m6", "m5", 100))
    assert members_that_meet(one) == "m1 is written by several CPUs, in store; m4, m6 miss after stores to m5 by store"
    fewer = "write m1 less often (a counter: per CPU, a flag: read it first)"
    advice = f"true sharing: {fewer}; false sharing: try to separate m5 from m4, m6"
    assert what_to_do(one) == advice
    assert what_to_do(replace(one, program=True)) == advice.replace("per CPU", "per thread")


@pytest.mark.parametrize(
    ("declared", "path", "fewer"),
    [
        ("atomic_long_t", "load_avg", "count load_avg per CPU or in batches"),
        ("bool", "dead", "write dead only where its value changes"),
        ("int", "on_rq", "write on_rq only where its value changes"),
        ("struct rb_node *", "shared.rb.rb_left", "shard or shorten the tree of shared.rb.rb_left"),
        ("struct list_head *", "lru.prev", "shard or shorten the list of lru.prev"),
        ("struct pglist_data *", "pgdat", "only another algorithm writes pgdat less often"),
        ("char[]", "cb", "only another algorithm writes cb less often"),
        ("arch_spinlock_t", "lock", "shard lock or hold it shorter"),
    ],
)
def test_how_stores_become_fewer_depends_on_what_the_member_is(declared: str, path: str, fewer: str) -> None:
    top = path.partition(".")[0]
    one = record("pool", 0.1, 0.0, TriageKind.TRUE_SHARING, (top, top, 9))
    member = replace(one.findings[0].members[0], path=path, type=declared, lock=path == "lock")
    one = replace(one, findings=(replace(one.findings[0], members=(member,)),))
    assert what_to_do(one) == f"true sharing: {fewer}"
    inferred = replace(member, write_inferred="pool_set writes it")
    one = replace(one, findings=(replace(one.findings[0], members=(inferred,)),))
    told = f"its store to {path} is inferred from the code, not sampled: record stores to be sure"
    assert what_to_do(one) == f"true sharing: {told if fewer.startswith('only another algorithm') else fewer}"


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("osq_node", "per-CPU osq_node"),
        ("thread_ctx", "global ha_thread_ctx"),
        ("task_struct", "slab"),
        ("rq", "per-CPU x"),
    ],
)
@pytest.mark.parametrize(
    ("declared", "fewer"),
    [("atomic_t", "count hits in batches"), ("int", "write hits less often (a flag: read it first)")],
)
def test_what_each_cpu_or_thread_has_is_not_to_be_made_per_cpu(
    name: str, place: str, declared: str, fewer: str
) -> None:
    one = record(name, 0.1, 0.0, TriageKind.TRUE_SHARING, ("hits", "hits", 9))
    member = replace(one.findings[0].members[0], path="hits", type=declared)
    one = replace(one, places=(place,), findings=(replace(one.findings[0], members=(member,)),))
    assert what_to_do(one) == f"true sharing: {fewer}"


@pytest.mark.parametrize("name", ["percpu_ref", "percpu_counter", "percpu_rw_semaphore", "pcpu_chunk"])
def test_what_all_cpus_share_is_counted_per_cpu_though_its_name_has_the_word(name: str) -> None:
    one = record(name, 0.1, 0.0, TriageKind.TRUE_SHARING, ("hits", "hits", 9))
    member = replace(one.findings[0].members[0], path="hits", type="atomic_t")
    one = replace(one, places=(f"slab {name}",), findings=(replace(one.findings[0], members=(member,)),))
    assert what_to_do(one) == "true sharing: count hits per CPU or in batches"


def test_members_that_two_pieces_of_advice_are_about_are_named_once() -> None:
    one = record("queue", 0.3, 0.0, TriageKind.TRUE_SHARING, ("next", "next", 90), ("lock", "lock", 50))
    one = replace(one, kinds=(TriageKind.TRUE_SHARING, TriageKind.LOCK_CONTENTION))
    assert members_that_meet(one).count("next is written by several CPUs") == 1
    assert "shard or shorten the list of next" in what_to_do(one), "a link of a list belongs to no CPU"


def test_lines_below_the_hottest_are_counted_by_member_and_clearing_a_page_is_not() -> None:
    """Their addresses name the object; one line shows where the record begins in it."""
    layout = struct("pool", scalar("a"), scalar("b"))
    area = ObjectArea(ObjectKind.SLAB, "pools", 0x1000, 64, 64, 64, ("pool",))
    meet = Conflict(0, 8, "look", 8, 8, "give", False, local=50)
    lines = [
        CacheLine(
            at + 1, 0x1000 + 64 * at, (Access(0, "look", hitm_local=5),), conflicts=(replace(meet, writer_function=by),)
        )
        for at, by in enumerate(("give", "give", "clear_page_erms"))
    ]
    profile = Profile(
        "test", "", "hitm", tuple(lines), recording=Recording("qemu", (), (0, 0), "x86_64"), areas=(area,)
    )
    known = finding(layout, [hot("a", 0, 8, 9)])
    found = replace(known.objects[0], origin="slab pools (64 bytes)", outcome=Outcome.RESOLVED)
    explained = replace(known, rank=1, cost=LineCost(50), objects=(found,))
    (one,) = contention_by_record([explained], profile, table(layout))
    assert [(pair.victim, pair.writer, pair.contended.most, list(pair.stores)) for pair in one.pairs] == [
        ("a", "b", 50, ["give"])
    ]
    assert one.unknown == 50


def test_the_command_after_a_table_names_the_type_of_the_row_that_it_is_for() -> None:
    """A line of it, looked at alone, may seem to hold another type."""
    area = ObjectArea(ObjectKind.HEAP, "", 0x1000, 64, 64, 64, ("pool",))
    meet = Conflict(0, 8, "look", 8, 8, "give", False, local=50)
    line = CacheLine(1, 0x1000, (Access(0, "look", hitm_local=50),), hitm_local=50, conflicts=(meet,))
    known = finding(struct("mapping", scalar("tree"), scalar("lock")), [hot("tree", 0, 8, 50)], rank=1)
    doubted = replace(known, objects=(replace(known.objects[0], outcome=Outcome.CANNOT_TELL),), cost=LineCost(50))
    recording = Recording("qemu", (), (0, 0), "x86_64")
    (one,) = contention_by_record([doubted], Profile("test", "", "hitm", (line,), recording=recording, areas=(area,)))
    assert (one.name, one.type) == ("pool", "pool")


def test_many_records_with_long_names_are_one_screen() -> None:
    met = [(f"a_member_with_a_long_name_{at}", "the_member_that_all_of_them_wait_for", 70) for at in range(9)]
    many = [record(f"a_record_with_a_long_name_{at}", 0.04, 0.03, TriageKind.FALSE_SHARING, *met) for at in range(20)]
    shown = render_table(many, ELF, ProfileSection(NOBODY, 1, 1), ("linesmith", "suggest", "program", "profile"))
    assert len(shown.splitlines()) <= 60
    assert sum(line.startswith("  4.0%    ≤ 3.0%") for line in shown.splitlines()) == 9


def test_a_recording_without_contention_is_one_sentence() -> None:
    line = CacheLine(1, 0x1000, (), conflicts=(Conflict(0, 8, "take", 8, 8, "give", True, local=49),))
    counts = (("accesses", 2_310_000),)
    profile = Profile(
        "test", "", "hitm", (line,), recording=Recording("qemu", ("ls",), (0, 0), "x86_64", counts=counts)
    )
    shown = render_table(contention_by_record((), profile), ELF, ProfileSection(profile, 1, 1))
    assert shown == "quiet: 49 of 2,310,000 accesses were misses after stores by other CPUs; nothing to do\n"


def side(member: str, cpus: int, *nodes: int) -> Side:
    return Side(member, 9, 9, cpu_count=cpus, nodes=nodes)


@pytest.mark.parametrize(
    ("victim", "writer", "told"),
    [
        (side("root", 7, 0), side("guard", 1, 0), "7 CPUs after 1 CPU, node 0"),
        (side("guard", 1, 0), side("guard", 1, 0), "1 CPU after another, node 0"),  # no CPU waits for itself
        (side("guard", 1), side("guard", 1), "1 CPU after another"),
        (side("guard", 2, 0), side("guard", 1, 0), "2 CPUs after 1 CPU, node 0"),
        (side("root", 1, 0), side("guard", 1, 0), "1 CPU after 1 CPU, node 0"),
        (
            side("root", 5, 0, 2, 3, 4, 9),
            side("guard", 2, 0, 3),
            "5 CPUs of nodes 0, 2-4 and 9 after 2 CPUs of nodes 0 and 3",
        ),
    ],
)
def test_who_waits_for_whom_is_told_with_cpus_and_nodes(victim: Side, writer: Side, told: str) -> None:
    sharing = SharingCost(victim, writer, Bounds(9, 9), Bounds(90, 90))
    shown = rows(replace(POOL, cost=LineCost(9, 90, sharings=(sharing,))), columns=140)
    assert any(row.endswith(f"  {told}") for row in shown)


def test_misses_of_a_recording_are_not_called_contended_accesses_and_one_load_is_one() -> None:
    """Contended are those that found the line modified; a second reader behind the store finds it clean, and misses."""
    cost = LineCost(337, 40_000, removable=Bounds(327, 334), removable_cycles=Bounds(39_000, 39_800), exact=True)
    shown = rows(replace(POOL, cost=cost))
    assert "  cost      40,000 cycles on misses after stores by other CPUs (counted with assumed latencies)" in shown
    assert any(row.startswith("  removable 327 to 334 of 337 misses after stores by other CPUs, ") for row in shown)
    one = rows(replace(POOL, contended=1, stores=1, cost=LineCost(1, 9)))
    assert any("all, 1 contended load, 1 store" in row for row in one)
    assert "  removable 0 of 1 contended load, 0 cycles: 0.0% of the profile" in one


RIVAL = LineObject("ucounts", 2, 40, 0.4, Outcome.CANNOT_TELL)
KNOWN = LineObject("pool", 1, -48, 0.97, Outcome.RESOLVED, 0.936, RIVAL)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            KNOWN,
            [
                "  object    pool, begins 48 bytes before the line (phase 16 of 64)",
                "  evidence  resolved: 97% of the samples explained, 93.6% likely against the next best, ucounts",
                "            (phase 40)",
            ],
        ),
        (
            replace(KNOWN, margin=0.99991),
            [
                "  object    pool, begins 48 bytes before the line (phase 16 of 64)",
                "  evidence  resolved: 97% of the samples explained, over 99.9% likely against the next best, ucounts",
            ],
        ),
        (
            replace(KNOWN, outcome=Outcome.CANNOT_TELL),
            [
                "  object    not known; most like pool, begins 48 bytes before the line (phase 16 of 64)",
                "  evidence  cannot tell: it explains 97% of the samples; 93.6% likely against ucounts (phase 40)",
            ],
        ),
    ],
    ids=["known", "as good as sure", "a guess has no confidence"],
)
def test_an_object_is_told_with_how_sure_it_is(found: LineObject, told: list[str]) -> None:
    shown = rows(replace(POOL, objects=(found,)))
    at = shown.index(told[0])
    assert shown[at : at + len(told)] == told


WORDS = st.lists(st.text("abcdefg_", min_size=1, max_size=12), min_size=1, max_size=40)
CELLS = "  0x10  guard      1,247  21.1%  "


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        (f"{CELLS}guard_take, guard_release", 80, [f"{CELLS}guard_take, guard_release"]),
        # The last cell goes on below itself, or below the others where it would be too narrow.
        (
            f"{CELLS}guard_take, guard_release",
            len(CELLS) + 24,
            [f"{CELLS}guard_take,", f"{' ' * len(CELLS)}guard_release"],
        ),
        (f"{CELLS}guard_take, guard_release", 50, [CELLS.rstrip(), "        guard_take, guard_release"]),
        (
            "  memory    10 pages for 1,000 objects, 3.8 MiB for 100,000",
            40,
            ["  memory    10 pages for 1,000 objects,", "            3.8 MiB for 100,000"],
        ),
        ("all of them, as they are counted by the rules", 40, ["all of them, as they are counted by the", "  rules"]),
    ],
)
def test_what_is_too_long_goes_on_below(text: str, columns: int, shown: list[str]) -> None:
    assert fitted(f"{text}\n", columns).splitlines() == shown


@given(WORDS, WORDS, st.integers(40, 120))
def test_nothing_is_lost_and_only_words_are_wider(cells: list[str], last: list[str], columns: int) -> None:
    line = f"{' '.join(cells)}  {' '.join(last)}"
    shown = fitted(f"{line}\n", columns)
    assert shown.split() == line.split()
    too_wide = [one for one in shown.splitlines() if len(one) > columns]
    assert all(one.strip() in (*cells, *last) or one.rstrip() == " ".join(cells) for one in too_wide)


MAPPING = struct("mapping", scalar("host"), scalar("lock"), scalar("tree", 16))
BY_NODE = "if each access needs one copy only; objects as placed"
ADVICE = StructuralAdvice(
    StructureKind.SHARD,
    "mapping",
    ("lock", "tree"),
    "shard lock with tree",
    reasons=("56% of the contended accesses on its line are of lock, after another CPU's store to it",),
    accessors=(
        Accessor("tree_add", 4320, ("tree",), ("tree",), True),
        Accessor("tree_find", 90, ("tree",), ()),
        *(Accessor(f"rare_{number}", 0, (), ("tree",)) for number in range(6)),
    ),
    gains=(
        Gain(1, "node", 1000, 900, -0.12, -0.08, "a line of its own; objects as placed"),
        Gain(2, "node", 1000, 500, -0.55, -0.45, BY_NODE),
        Gain(4, "node", 1000, 250, -0.8, -0.7, BY_NODE),
    ),
    before=(MAPPING,),
    memory_before=(MemoryUse("mapping", SlabBasis.COMPUTED, 32, 32, 0, 128, 8, 3_203_072),),
    notes=("A copy takes 64 bytes.",),
)


def test_structural_advice_as_text() -> None:
    expected = Path(__file__).with_name("expected") / "advice.txt"
    assert "\n".join(structure.advice_rows(ADVICE, table(MAPPING))) + "\n" == expected.read_text()


def test_long_sentences_of_an_advice_are_broken_and_its_layout_marks_what_changes() -> None:
    after = struct("mapping", scalar("host"), scalar("lock", align=64))
    wordy = StructuralAdvice(
        StructureKind.PULL_IN, "mapping", ("lock",), "word " * 60, notes=("note " * 60,), after=(after,)
    )
    shown = "\n".join(structure.advice_rows(wordy, table(MAPPING, after))).splitlines()
    told = [row[:6] for row in shown if "word" in row or "note" in row]
    assert told == ["pull i", *["  word"] * 3, "  - no", *["    no"] * 3]
    assert max(len(row) for row in shown if "note" in row) <= 100
    assert [row for row in shown if row.lstrip().startswith(">")] == [
        "  >       type                       lock __attribute__((__aligned__(64))); /*    64     8 */"
    ]


def test_headings_of_a_rules_page_are_bold_on_a_terminal() -> None:
    command = ["script", "--quiet", "--command", f"{LINESMITH} explain alignment-lost", "/dev/null"]
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert re.match(r"\s*\x1b\[[\d;]*malignment-lost\x1b\[0m", done.stdout)


def test_misses_of_which_samples_do_not_say_the_writer_are_counted_once() -> None:
    """Nor is a gain named that may be nothing or all of it: replay says how much."""
    met = tuple(RecordPair("m1", writer, "", Bounds(0, 5423), stores={f"set_{writer}": 3}) for writer in ("m0", "m1"))
    text = told((replace(record("mapping", 1.0, 1.0, TriageKind.FALSE_SHARING, ("m1", "m0", 1)), pairs=met),))
    assert "m1 misses after stores to m0 by set_m0, or to itself by set_m1: 5,423" in text
    assert "most false sharing: mapping, between nothing and all of its 100.0%; suggest tries" in text
    assert "nothing is ready to be sent next:" in text
