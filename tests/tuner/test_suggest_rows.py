# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of what ``linesmith suggest`` writes, each on a value made for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_made import finding, hot, scalar, struct, table
from proposals_by_hand import LINE, MEMORY, NOW, POOL, SPLIT, aligned, moved, proposed, suggested

from linesmith.analyzer.model import (
    Bounds,
    Candidate,
    HolderChange,
    Interval,
    Misses,
    Move,
    MoveKind,
    Optimality,
    PhaseProof,
    ReplayedSaving,
    Residual,
    SimulatedLines,
    Simulation,
    SlabBasis,
    Strategy,
)
from linesmith.analyzer.report.alternatives import alternative_rows
from linesmith.analyzer.report.answer import answer_rows, memory_rows
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.analyzer.report.meeting import meeting_rows
from linesmith.analyzer.report.member_heat import member_heat
from linesmith.analyzer.report.moves import short_change
from linesmith.analyzer.report.overview import overview_rows
from linesmith.analyzer.report.simulation import difference_row
from linesmith.analyzer.report.suggest import render_text
from linesmith.tuner.suggestions import Suggestion, first_candidates


def answer(candidate: Candidate, label: str) -> list[str]:
    """The rows with this label."""
    rows = list(answer_rows(candidate, LINE))
    start = next((place for place, row in enumerate(rows) if row[0] == label), len(rows))
    ends = (place for place, row in enumerate(rows) if place > start and row[0])
    return [text for _, text in rows[start : next(ends, len(rows))]]


def test_memory_is_told_where_it_changes_and_named_where_not() -> None:
    larger = replace(MEMORY, stride=192, pages_per_1000=48, bytes_per_100000=19660800)
    other = replace(MEMORY, cache="kmalloc-128", basis=SlabBasis.ASSUMED)
    assert list(memory_rows((MEMORY, other), (larger, other))) == [
        "pool_cache: 32 -> 48 pages for 1,000 objects, 12.2 -> 18.8 MiB for 100,000 (computed from the cache's flags)",
        "unchanged in slabs of kmalloc-128 (assumed)",
    ]


def test_the_caches_that_cost_most_are_told_by_name() -> None:
    named = [replace(MEMORY, cache=f"cache{number}") for number in range(5)]
    grown = [replace(one, pages_per_1000=32 + 4 * number) for number, one in enumerate(named)]
    rows = list(memory_rows(named, grown))
    assert [row.partition(":")[0] for row in rows[:3]] == ["cache4", "cache3", "cache2"]
    assert rows[3:] == ["and 1 more cache", "unchanged in slabs of cache0"]


def test_the_records_around_that_change_are_told_with_their_slabs() -> None:
    larger = replace(MEMORY, objects_per_slab=21)
    deeper = replace(MEMORY, objects_per_slab=42, order=1)
    holders = (
        HolderChange("struct node", 128, 192, (MEMORY, larger)),
        HolderChange("struct link", 128, 192, (MEMORY, deeper)),
        HolderChange("struct list", 1024, 1088),
        HolderChange("struct tree", 256, 320),
    )
    assert answer(replace(aligned(), holders=holders), "holders") == [
        "struct node 128 -> 192 bytes, 32 -> 21 objects in 1 page of pool_cache",
        "struct link 128 -> 192 bytes, 32 in 1 page -> 42 in 2 pages of pool_cache",
        "struct list 1,024 -> 1,088 bytes",
        "and 1 more record",
    ]
    assert answer(aligned(), "holders") == []


def test_phases_are_counted_by_where_objects_really_start() -> None:
    promised = aligned()
    loose = replace(promised, residuals=(Residual("limit", "used", 64, 0.875, 0.25),), granules=(8, 8))
    assert "7 of 8 -> never" in meeting_rows(promised)[1]
    assert "7 of 8 -> 2 of 8" in meeting_rows(loose)[1]


def test_a_record_that_grows_is_told_with_its_lines() -> None:
    assert answer(aligned(), "size") == ["128 -> 192 bytes, 2 -> 3 lines"]


@pytest.mark.parametrize(
    ("optimality", "told"),
    [
        (Optimality(12, 12, proven=True), "proven: no legal order of the members is predicted to cost less"),
        (Optimality(12, 9, proven=False), "costs 12 as predicted; no legal order costs less than 9"),
    ],
)
def test_how_good_a_packing_is(optimality: Optimality, told: str) -> None:
    assert answer(replace(moved(), optimality=optimality), "packing") == [told]


def test_a_pair_that_still_meets_is_told_by_place() -> None:
    candidate = replace(
        moved(),
        residuals=(Residual("limit", "used", 64, 0.875, 0.375), Residual("limit", "used", 128, 0.9375, 0.5)),
        proofs=(
            PhaseProof("limit", "used", "", 64, 8, 3, 0.375),
            PhaseProof("limit", "used", "ext4_inode_cache, i_data", 64, 4, 1, 0.24),
            PhaseProof("limit", "used", "xfs_inode, i_data", 64, 4, 0, 0.0),
            PhaseProof("limit", "used", "nfs_inode_cache, i_data", 64, 4, 1, 0.24),
            PhaseProof("limit", "used", "shmem_inode_cache, i_data", 128, 1, 1, 1.0),
        ),
    )
    assert meeting_rows(candidate) == [
        "phases on one line of  64 bytes          128 bytes",
        "limit and used         7 of 8 -> 3 of 8  15 of 16 -> 8 of 16",
        "  of the objects 24% in ext4_inode_cache and 1 other, none in xfs_inode",
    ]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("used", "limit"), "move used behind id; move limit behind id"),
        (("used", "limit", "owner"), "packed anew: used, limit, owner"),
        (("used", "limit", "owner", "name", "last", "first"), "packed anew: used, limit, owner, name and 2 more"),
    ],
)
def test_a_candidate_with_many_steps_is_told_by_how_it_was_found(names: tuple[str, ...], told: str) -> None:
    moves = tuple(Move(MoveKind.MOVE, name, "id") for name in names)
    assert short_change(replace(moved(), moves=moves, strategy=Strategy.PACKED)) == told


def simulation(before: int, after: int) -> Simulation:
    lines = SimulatedLines(64, Misses(before), Misses(after), 1000, Interval(-0.6, -0.4))
    return Simulation((lines,), 1, 5000)


def test_the_table_of_candidates_has_what_the_replay_says() -> None:
    here = replace(suggested(proposed(moved(), aligned())), simulations={1: simulation(200, 90)})
    assert alternative_rows(list(here.numbered())) == [
        "         change                  saves     limits  size  pages/1,000  moved  diff  replayed",
        "* cjrcg  move used behind id        88  60 to 100   128           32      1     2    -55.0%",
        "  jssbg  align used to 64 bytes    100              192     32 -> 48      1     2         -",
    ]


def test_the_replay_orders_the_rows_and_leaves_the_names() -> None:
    here = suggested(proposed(replace(moved(), recommended=""), replace(aligned(), recommended="It saves most.")))
    text = render_text(replace(here, simulations={2: simulation(200, 20), 1: simulation(200, 90)}))
    rows = text[text.index("\ncandidates (saves") :].splitlines()
    assert [row.split()[:2] for row in rows[3:5]] == [["*", "jssbg"], ["cjrcg", "move"]]
    assert "\nrecommended: candidate jssbg: align used to 64 bytes\n" in text


def test_columns_that_say_nothing_are_left_out() -> None:
    head, _ = alternative_rows(list(suggested(proposed(replace(aligned(), costs=(NOW, NOW)))).numbered()))
    bare = replace(aligned(), costs=(replace(NOW, memory=()), replace(NOW, memory=())))
    shorter, _ = alternative_rows(list(suggested(proposed(bare)).numbered()))
    assert head.split() == ["change", "saves", "size", "pages/1,000", "moved", "diff"]
    assert shorter.split() == ["change", "saves", "size", "moved", "diff"]


def test_without_a_saving_the_pairs_of_members_are_told() -> None:
    assert answer(aligned(), "saves") == ["100 of 100 contended loads that the meeting explains"]


@pytest.mark.parametrize(
    ("replayed", "told"),
    [
        (0.3, "predicted -25.0% (-40.0% to +10.0%): within these limits the replay has -30.0%"),
        (0.5, "predicted -25.0% (-40.0% to +10.0%): outside these limits the replay has -50.0%"),
    ],
)
def test_a_prediction_is_held_against_the_replay(replayed: float, told: str) -> None:
    holds = -0.1 <= replayed <= 0.4
    assert difference_row(ReplayedSaving(Bounds(-0.1, 0.4), 0.25, replayed, 0.25 - replayed, holds)) == told


def test_a_table_keeps_to_the_width() -> None:
    moves = tuple(Move(MoveKind.MOVE, "a_member_with_a_name_that_is_rather_long", name) for name in ("owner", "name"))
    here = suggested(proposed(replace(moved(), moves=moves), aligned()))
    rows = alternative_rows(list(replace(here, simulations={1: simulation(200, 90)}).numbered()))
    assert max(map(len, rows)) <= 100
    assert rows[1].startswith("* cjrcg  move a_member_with_a_name_that…  ")


def test_a_saving_that_may_be_a_loss_is_told_with_reserve() -> None:
    doubtful = replace(moved(), saving=replace(moved().saving, contended=Bounds(-60, 100)))
    said = "  - By its limits it may also lose: replay it (--trace) or benchmark it before you believe it.\n"
    assert said in render_text(suggested(proposed(doubtful)))
    assert said not in render_text(suggested(proposed(moved())))
    replayed = replace(suggested(proposed(doubtful)), simulations={1: simulation(200, 90)})
    assert said not in render_text(replayed)


def test_an_estimate_whose_limits_do_not_hold_what_was_replayed_is_no_likely_one() -> None:
    """Misses were counted, so the head line may not promise what only was estimated."""
    given = replace(suggested(proposed(moved())), simulations={1: simulation(200, 170)})
    counted = ReplayedSaving(Bounds(0.6, 1.0), 0.88, 0.15, 0.73, False)
    told = render_text(replace(given, replayed={1: counted}))
    assert "  saves       perhaps 88 of 100 contended loads" in told
    assert "  - What was replayed is beyond the limits of the estimate: believe the replay (-15.0% misses)." in told
    held = render_text(replace(given, replayed={1: replace(counted, predicted=Bounds(0.1, 1.0), holds=True)}))
    assert "  saves       likely 88 of 100 contended loads" in held
    assert "beyond the limits" not in held


def test_a_limit_leaves_the_first_candidates_and_lines_without_any() -> None:
    answers = (Suggestion(LINE, (moved(), aligned())), Suggestion(LINE, (), "no"), Suggestion(LINE, (aligned(),)))
    assert [len(one.candidates) for one in first_candidates(answers, 1)] == [1, 0]
    assert [len(one.candidates) for one in first_candidates(answers, 3)] == [2, 0, 1]


def test_several_lines_begin_with_an_overview() -> None:
    other = replace(proposed(aligned(), advice=(SPLIT,)), finding=replace(LINE, rank=4))
    assert overview_rows(suggested(proposed(moved()), other)) == [
        "recommended:",
        "  line 0  pool  candidate cjrcg: move used behind id  saves likely 88 of 100",
        "structure: pool (count per CPU)",
    ]
    assert render_text(suggested(proposed(moved()), other)).split("\n\n")[1].startswith("recommended:\n  line 0")


def test_a_single_line_needs_no_overview() -> None:
    assert overview_rows(suggested(proposed(moved(), aligned()))) == []


def test_heat_is_that_of_all_lines_of_the_record_with_the_most_contended_first() -> None:
    other = finding(POOL, [hot("name", 0, 8, reads=300), hot("id", 120, 4, writes=7)])
    assert member_heat(LINE, [LINE, other]) == {
        "name": "300 contended",
        "limit": "100 contended",
        "used": "80 stores",
        "id": "7 stores",
    }


def test_a_member_that_must_be_written_though_no_store_was_sampled() -> None:
    inferred = replace(hot("used", 24, 8, reads=5), write_inferred="taking or releasing a lock writes it")
    assert member_heat(finding(POOL, [inferred]), ())["used"] == "5 contended, written"


BETWEEN = """\
  struct s {
        type                       a;                    /*     0     8 */
        type                       b;                    /*     8    64 */
          ...
        /* --- cacheline 5 boundary (320 bytes) was 8 bytes ago --- */
        type                       e;                    /*   328    64 */
        /* --- cacheline 6 boundary (384 bytes) was 8 bytes ago --- */
        type                       f;                    /*   392     8 */

        /* size: 400, cachelines: 7, members: 6 */
        /* last cacheline: 16 bytes */
  };
"""


def test_lines_of_which_nothing_is_shown_are_left_out_of_an_excerpt() -> None:
    sizes = (("a", 8), ("b", 64), ("c", 128), ("d", 128), ("e", 64), ("f", 8))
    layout = struct("s", *(scalar(name, size) for name, size in sizes))
    shown = frozenset({"a", "f"})
    assert "\n".join([*excerpt(layout, table(layout), shown, frozenset()), ""]) == BETWEEN
