# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line costs and how much of that a layout can remove; sums over types and objects; samples in and out."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from functools import partial
from math import inf

import pytest
from find.lines import Case, accesses, bounds, cases, check, costs, explained, line_of, profile_of
from hand_made import finding, hot, scalar, struct
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from profiles.example_files import PROFILES

from linesmith.analyzer.comparison import compare
from linesmith.analyzer.comparison.compare import scatter_of
from linesmith.analyzer.model import (
    Access,
    Bounds,
    CacheLine,
    Conflict,
    CpuCounts,
    Finding,
    LineCost,
    Outcome,
    Profile,
    SampleOutcome,
    Sampling,
    SharingCost,
    Side,
    TriageKind,
)
from linesmith.analyzer.sharing.cost import Z, profile_waited, removable_limit, share_of
from linesmith.analyzer.sharing.findings import accounts, machine_cpus
from linesmith.analyzer.sharing.parts import origin
from linesmith.analyzer.sharing.records import contention_by_record

ratio_of = partial(compare.ratio_of, z=Z)
widened = partial(compare.widened, z=Z)


def timed(text: str) -> tuple[Access, ...]:
    """Accesses whose contended loads take 200 cycles each."""
    return tuple(replace(one, cycles_local=200) if one.hitm_local else one for one in accesses(text))


def cost_of(line: CacheLine, *others: CacheLine) -> LineCost:
    return explained(None, profile_of(line, *others))[0].cost


@cases("sampled_costs")
def test_a_sampled_line(case: Case) -> None:
    words = case.given
    more = {"hitm_local": int(words["all"])} if "all" in words else {}
    met = timed(words["rows"]) if "rows" in words else (replace(accesses(words["untimed"])[0], hitm_remote=10),)
    line = line_of(met, bytes=int(words.get("bytes", "64")), **more)
    others = [line_of(timed(words["other half"]), 0x1040)] if "other half" in words else []
    profile = profile_of(line, *others, events=tuple(filter(None, [words.get("events")])))
    check(case, costs(explained(None, profile)[0]))


def test_a_row_without_an_offset_may_be_of_any_member() -> None:
    cost = cost_of(line_of((*timed("0 read 10, 8 write 0/50"), Access(None, "far", hitm_local=1))))
    assert cost.notes[0] == "1 contended access stands in no row of the profile: it may be of any member"


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (Access(0, "update", by_cpu=(CpuCounts(3, 0, stores=90, contended=10),)),
            Access(8, "write", stores_l1_hit=10, by_cpu=(CpuCounts(5, 1, stores=10),))),
        (Access(0, "update", nodes="0{3}"), Access(8, "write", stores_l1_hit=10, nodes="0{0-2} 1{5}")),
    ],
)  # fmt: skip
def test_two_accesses_of_one_cpu_never_conflict(own: Access, other: Access) -> None:
    cost = cost_of(line_of((replace(own, hitm_local=10, stores_l1_hit=90), other)))
    (sharing,) = cost.sharings
    assert (sharing.victim.member, sharing.writer.member, sharing.contended) == ("0x0", "0x8", Bounds(10, 10))
    if own.by_cpu:
        assert (sharing.victim.cpus, sharing.writer.nodes) == ((3,), (1,))


def test_cpus_that_are_only_counted_may_be_the_same_or_not() -> None:
    (sharing,) = cost_of(
        line_of((Access(0, "read", hitm_local=10, cpus=1), Access(0, "write", stores_l1_hit=5, cpus=1)))
    ).sharings
    assert (sharing.writer.member, sharing.contended) == ("0x0", Bounds(10, 10))


def test_slow_loads_that_were_no_hitm_count_in_the_upper_limit_only() -> None:
    read, write = timed("0 read, 8 write 0/50")
    cost = cost_of(line_of((replace(read, records=300, cycles_load=105), write)))
    assert (cost.cycles, cost.slow_cycles, cost.removable_cycles) == (20_000, 20_000, Bounds(20_000, 40_000))


def test_the_share_is_of_all_cycles_of_the_profile() -> None:
    line = line_of(timed("0 read, 8 write 0/50"))
    elsewhere = line_of((Access(0, "read", hitm_local=100, cycles_local=600),), 0x8000)
    assert cost_of(line, elsewhere).share == Bounds(0.25, 0.25)
    assert cost_of(replace(line, nominal=True, share=0.3)).share == Bounds(0.3, 0.3), "of a text without counts"


def conflict(victim: int, writer: int, true_sharing: bool, local: int, remote: int = 0, shadowed: int = 0) -> Conflict:
    return Conflict(victim, 8, "v", writer, 8, "w", true_sharing, local, remote, shadowed=shadowed)


@pytest.mark.parametrize(
    ("conflicts", "removable", "cycles"),
    [
        ([(0, 8, False, 60), (0, 8, True, 30), (0, 0, True, 10)], "60", "7200"),
        ([(0, 0, False, 60)], "0", "0"),  # misses within one member stay, even those for nothing
        ([(0, 8, False, 60), (8, 8, True, 0, 0, 45)], "15 to 60", "1800 to 7200"),  # some also brought news
        ([(0, 8, False, 10, 10)], "20", "4200"),  # misses across nodes cost more
    ],
)
def test_misses_for_nothing_between_two_members_can_be_removed(
    conflicts: list[tuple[int, int, bool, int]], removable: str, cycles: str
) -> None:
    cost = cost_of(line_of(accesses("0 f 10/10, 8 g 10/10"), conflicts=tuple(conflict(*one) for one in conflicts)))
    assert (bounds(cost.removable), bounds(cost.removable_cycles), cost.exact) == (removable, cycles, True)
    assert cost.contended == sum(one[3] + sum(one[4:5]) for one in conflicts)
    news = "up to 45 of these misses also brought bytes written elsewhere"
    assert any(news in note for note in cost.notes) == ("to" in removable)


def test_the_limit_without_types_takes_every_offset_for_a_member() -> None:
    met = conflict(0, 4, False, 60), conflict(0, 8, True, 30), conflict(0, 0, False, 10)
    assert removable_limit(line_of((), conflicts=met)) == 60 * 120


@pytest.mark.parametrize(
    ("found", "least", "most"),
    [
        # the odds of 81 of 263, of which the share is 0.2553 to 0.3662: Newcombe, Stat. in Med. 17 (1998), table I, 3
        (ratio_of(182, 81, 1, 1), (0.3427, 0.3430), (0.5776, 0.5779)),
        # without samples it may be anything
        (share_of(0, 0), (0, 0), (1, 1)),
        (ratio_of(0, 0, 1, 1), (0, 0), (inf, inf)),
        (ratio_of(100, 100, 1000, 1000), (0.5, 1), (1, 1.5)),
        (ratio_of(100, 100, 1000, 4000), (0.1, 0.25), (0.25, 1)),  # totals scale it
        (ratio_of(0, 50, 1000, 1000), (1, inf), (inf, inf)),  # what was not there before has no upper limit
        (widened(Bounds(0.9, 1.1), 1.0, 0.2), (0, 0.6), (1.7, 2)),
        (widened(Bounds(0.9, 1.1), 1.0, 0.0), (0.9, 0.9), (1.1, 1.1)),
        (widened(Bounds(0.0, 0.01), 0.0, 0.2), (0, 0), (0.0101, 0.0199)),  # what has vanished stays so
        (widened(Bounds(30.0, inf), 0.0, 0.2), (0, 30), (inf, inf)),
    ],
)
def test_limits_of_ratios(found: Bounds, least: tuple[float, float], most: tuple[float, float]) -> None:
    assert least[0] <= found.least <= least[1]
    assert most[0] <= found.most <= most[1]


@pytest.mark.parametrize("rate", [3, 30, 300])
def test_the_interval_of_equal_rates_holds_one_in_about_95_of_100_pairs(rate: int) -> None:
    pairs = default_rng(rate).poisson(rate, (400, 2)).tolist()
    held = [found.least <= 1 <= found.most for found in (ratio_of(one, other, 1, 1) for one, other in pairs)]
    assert sum(held) / 400 > 0.91


def test_the_scatter_between_runs_is_found_whatever_all_have_in_common_and_a_few_changes() -> None:
    assert scatter_of(default_rng(1).poisson(1000, (200, 2)).tolist()) < 0.02, "only chance parts these"
    random = default_rng(2)
    rates = 1000 * random.lognormal(0, 0.2, (200, 2)) * (1.0, 3.0)
    pairs = [*random.poisson(rates).tolist(), *([1000, 50] for _ in range(20))]
    assert 0.18 < scatter_of(pairs) < 0.26
    assert scatter_of([(100, 900)] * 11) == 0, "of a few pairs nothing is learnt"


TREE = struct("mapping", scalar("tree"), scalar("lock"))
OTHER = struct("page", scalar("flags"))


def typed(rank: int, most: float, layout_is_tree: bool = True) -> Finding:
    """A line of which ``most`` hundredths of the profile can be removed."""
    layout, members = (TREE, [hot("tree", 0, 8, 100)]) if layout_is_tree else (OTHER, [hot("flags", 0, 8, 100)])
    sharing = SharingCost(Side("tree", 100, 0), Side("lock", 0, 9), Bounds(0, 100), Bounds(0, 1000))
    cost = LineCost(100, 1000.0, 0.0, (sharing,), Bounds(0, 100), Bounds(0, 1000), share=Bounds(0, most / 100))
    return replace(finding(layout, members, rank=rank), cost=cost)


def test_lines_of_one_record_add_up_and_the_others_are_not_known() -> None:
    unknown = typed(3, 5)
    unknown = replace(unknown, objects=(replace(unknown.objects[0], outcome=Outcome.CANNOT_TELL),))
    profile = Profile("x", "", "hitm", tuple(line_of(timed("0 tree 100"), at << 12, rank=at) for at in range(5)))
    found = [replace(one, share=0.2) for one in (typed(0, 5), typed(1, 4, False), typed(2, 3), unknown)]
    trees, left, pages = contention_by_record(found, profile)
    assert (trees.name, trees.lines, trees.contended, trees.share) == ("mapping", 2, 200, 0.4)
    assert (trees.removable, trees.kinds, trees.movable) == (Bounds(0, 0.4), (TriageKind.TRUE_SHARING,), True)
    assert [(one.victim, one.writer, one.contended) for one in trees.pairs] == [("tree", "lock", Bounds(0, 200))]
    assert (pages.name, pages.lines, left.name, left.lines, left.share) == ("page", 1, "", 2, 0.4)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(PROFILES, st.integers(0, 2))
def test_samples_in_are_samples_out(given_: Profile, top: int) -> None:
    profile = replace(given_, recording=None, areas=())
    told = profile.sampling.outcomes if profile.sampling else ()
    assume(len(dict(told)) == len(told))
    ended = accounts(profile, explained(None, profile, lines=profile.lines[:top]), profile.lines[top:])
    assert ended.samples == sum(count for _, count in ended.outcomes)
    assert all(count > 0 for _, count in ended.outcomes)
    assert ended.samples >= sum(access.records or 0 for line in profile.lines for access in line.accesses)
    assert ended.samples >= (profile.sampling.samples if profile.sampling else 0)


def test_every_way_out_has_its_name() -> None:
    shown = CacheLine(0, 0x1000, (Access(0, "read", hitm_local=6, records=10),), hitm_local=6, records=12)
    below = CacheLine(1, 0x2000, (Access(0, "read", hitm_local=5),), hitm_local=5)
    sampling = Sampling(((SampleOutcome.SHARED_LINE, 20), (SampleOutcome.LOST, 7)))
    profile = profile_of(shown, below, sampling=sampling)
    ended = accounts(profile, explained(None, profile, lines=(shown,)), (below,))
    assert dict(ended.outcomes) == {
        "no evidence": 10,
        "in no row of their line": 2,
        "on lines not looked at": 5,
        "on lines that the profile left out": 3,
        "lost while recording": 7,
    }


def on(nodes: str | None, cpus: int | None = None) -> Access:
    return Access(0, "read", hitm_local=5, nodes=nodes, cpus=cpus)


@pytest.mark.parametrize(
    ("rows", "cpus", "nodes", "count"),
    [
        ([on("0 1", 5)], None, {0, 1}, 5),
        ([on("0{0-2,7} 1{24}", 5)], {0, 1, 2, 7, 24}, {0, 1}, 5),
        ([on("0{ 2 100.0% n/a}", 2)], None, {0}, 2),
        ([on("N/A")], None, set(), None),
        ([Access(0, "read", by_cpu=(CpuCounts(3, 1), CpuCounts(9, None)))], {3, 9}, {1}, 2),
        ([on("0{1-4}"), on("0 1", 9)], None, {0, 1}, 9),  # the second row only counts its CPUs
        ([on("0{0-999999}")], set(range(65537)), {0}, 65537),  # a range without end is cut
    ],
)
def test_forms_of_lists_of_nodes(rows: list[Access], cpus: Set[int] | None, nodes: Set[int], count: int | None) -> None:
    found = origin(rows)
    assert (found.cpus, found.nodes, found.count) == (cpus, nodes, count)


@pytest.mark.parametrize(
    ("profile", "cpus"),
    [
        *((profile_of(line_of([on(nodes)])), cpus) for nodes, cpus in (("0{0-47,96-143}  1{48-95,144-159}", 160),
            ("0{0-3}  1{8}", 64), ("0 1", 64), ("0{999999}", 65536))),
        *((profile_of(sampling=Sampling(cpus=said)), most) for said, most in ((12, 12), (0, 1), (10**9, 65536))),
        (profile_of(line_of([on("0 1", 160), on("0 1", 159)])), 160),  # a row may only count its CPUs
        (profile_of(line_of([on("0 1", 8), on("0 1", 7)])), 64),
    ],
)  # fmt: skip
def test_a_profile_tells_how_many_cpus_there_are_or_64_are_assumed(profile: Profile, cpus: int) -> None:
    assert machine_cpus(profile, 64) == cpus


def test_lines_that_a_paste_left_out_count_by_share() -> None:
    assert profile_waited(profile_of(line_of([Access(0, "read", hitm_local=10, cycles_local=100)], share=0.5))) == 2000
