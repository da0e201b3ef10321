# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith suggest`` writes, from candidates made by hand: whole answers, then the rows that vary."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
from hand_made import finding, held, hot, scalar, struct, table, union
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
    SlabMachine,
    Strategy,
)
from linesmith.analyzer.report import suggest_json
from linesmith.analyzer.report.alternatives import alternative_rows
from linesmith.analyzer.report.answer import answer_rows, memory_rows
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.analyzer.report.meeting import meeting_rows
from linesmith.analyzer.report.member_heat import member_heat
from linesmith.analyzer.report.moves import short_change
from linesmith.analyzer.report.overview import overview_rows
from linesmith.analyzer.report.simulation import difference_row
from linesmith.analyzer.report.suggest import render_candidate, render_text
from linesmith.analyzer.report.suggested import Proposed, Suggested
from linesmith.tuner.suggestions import Suggestion, first_candidates

DOCS = Path(__file__).resolve().parents[2] / "docs"
NO_HELP = "moving members does not help."
HOPELESS = Proposed(finding(POOL, [hot("id", 120, 4, 9, 9)], rank=3), refusal=f"Line 3: {NO_HELP}")


def json_of(*lines: Proposed) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(suggest_json.render_json(suggested(*lines)))
    jsonschema.validate(document, suggest_json.schema())
    return document


def text_of(*lines: Proposed) -> str:
    return render_text(suggested(*lines))


def test_the_page_has_the_schema_of_the_code_and_names_every_field_of_a_candidate() -> None:
    assert json.loads((DOCS / "schema-suggest.json").read_text()) == json.loads(json.dumps(suggest_json.schema()))
    page = (DOCS / "schema-suggest.md").read_text()
    assert [name for name in json_of(proposed(moved()))["candidates"][0] if not re.search(rf"\.{name}\b", page)] == []


def test_a_candidate_as_json() -> None:
    first = json_of(proposed(moved(), aligned()))["candidates"][0]
    told = {name: first[name] for name in ("number", "line", "type", "size", "lines", "strategy", "churn")}
    found = {"number": 1, "line": 0, "type": "pool", "size": 128, "lines": 2, "strategy": "one move"}
    assert told == found | {"churn": {"members": 1, "lines": 2}}
    assert first["recommended"] == "The smallest change that leaves nothing."
    move = {"kind": "move", "member": "used", "after": "id"}
    assert first["moves"] == [move | {"partner": None, "align": None, "members": []}]
    costs = first["cost_before"]["contended"], first["cost_after"]["contended"]
    assert costs == ({"least": 90, "most": 100}, {"least": 0, "most": 0})
    pair = {"first": "limit", "second": "used", "line_bytes": 64}
    assert first["residual_phases"][0] == pair | {"before": 0.875, "after": 0}
    (steps,) = first["steps"]
    assert (steps["victim"], steps["writer"]) == ("limit", "used")
    access = {"cpu": "B", "function": "pool_full", "member": "limit", "writes": False, "line": 0}
    effect = {"states": {"A": "S", "B": "S"}, "what": "modified on A", "cycles": 456, "needless": True}
    assert steps["before"][1] == access | effect


def test_several_lines_as_json() -> None:
    document = json_of(proposed(moved(), aligned(), advice=(SPLIT,)), proposed(aligned()), HOPELESS)
    assert [one["number"] for one in document["candidates"]] == [1, 2, 3]
    assert document["candidates"][1]["recommended"] == ""
    assert document["refused"] == [{"line": 3, "reason": f"Line 3: {NO_HELP}"}]
    (line,) = document["structure"]
    assert line["line"] == 0
    assert [(one["kind"], one["members"]) for one in line["advice"]] == [("count per CPU", ["used"])]


EXPECTED = """\
c2c.txt
vmlinux build-id c0ffee

line 0, struct pool: false sharing in pool

recommended: candidate cjrcg: move used behind id
  because     The smallest change that leaves nothing.
  saves       likely 88 of 100 contended loads of the record (60 to 100); up to 28 may be chance
  cycles      likely 40,128 of 45,600 (27,000 to 45,600), as sampled
  everywhere  94 -> 11 loads, over all places of the objects
  adjacent    0 -> 0 to 40 more, where pairs of 128 bytes are fetched together
  size        128 bytes, 2 lines (unchanged)
  memory      unchanged in slabs of pool_cache
  hot lines   1 -> 2 lines hold the members seen hot
  functions   pool_take touches 1.12 -> 2 lines
  together    phases on one line of  64 bytes         128 bytes
              limit and used         7 of 8 -> never  15 of 16 -> 3 of 16
  change      1 member moves, a diff of 2 lines (one move)
  - Only the layout was checked.

why: an object that starts 0 bytes into its line
     access                 line AB now           cycles   line AB candidate     cycles
  limit waits for stores to used: 90 to 100 of 100 contended loads
  A  pool_take writes used     0 MI invalidates B     80*     1 MI hit                -
  B  pool_full reads limit     0 SS modified on A    456*     0 IE hit                -
  line: from the one in which the object starts; AB: how the caches of CPU A and B hold it then (M
  modified, E exclusive, S shared, I invalid); cycles that the access waits, * only for where the
  members lie.
  Cycles of stores are assumed, and a store buffer may hide them; those of loads are the profile's
  mean.

before:
    struct pool {
            ...
          type                       owner;                /*     8     8 */
          type                       limit;                /*    16     8 */ /* 100 contended */
  >       type                       used;                 /*    24     8 */ /* 80 stores */
          type                       first;                /*    32    24 */
            ...

          /* size: 128, cachelines: 2, members: 8 */
          /* padding: 4 */
    };

after:
    struct pool {
            ...
          type                       owner;                /*     8     8 */
          type                       limit;                /*    16     8 */ /* 100 contended */
          type                       first;                /*    24    24 */
            ...
          /* --- cacheline 1 boundary (64 bytes) was 8 bytes ago --- */
            ...
          type                       id;                   /*   112     4 */

          /* XXX 4 bytes hole, try to pack */

  >       type                       used;                 /*   120     8 */ /* 80 stores */

          /* size: 128, cachelines: 2, members: 8 */
          /* sum members: 124, holes: 1, sum holes: 4 */
    };

candidates (saves contended loads, of 100):
           change                  saves     limits  size  pages/1,000  moved  diff
  * cjrcg  move used behind id        88  60 to 100   128           32      1     2
    jssbg  align used to 64 bytes    100              192     32 -> 48      1     2
"""


def test_a_line_as_text() -> None:
    assert text_of(proposed(moved(), aligned())) == EXPECTED


NOISE = "Nothing is recommended: 12 samples less would be lost in the noise (19)."
DECLINED = f"""\
c2c.txt
vmlinux build-id c0ffee

line 0, struct pool: false sharing in pool

{NOISE}

candidates, in full with --candidate cjrcg and so on (saves contended loads, of 100):
         change               saves     limits  size  pages/1,000  moved  diff
  cjrcg  move used behind id     88  60 to 100   128           32      1     2
"""


def test_below_the_noise_nothing_is_recommended_and_told_why() -> None:
    line = proposed(replace(moved(), recommended=""), declined=NOISE)
    assert json_of(line)["declined"] == [{"line": 0, "reason": NOISE}]
    assert text_of(line) == DECLINED


def test_refused_lines_come_last_and_those_refused_for_one_reason_together() -> None:
    assert text_of(proposed(moved()), HOPELESS).endswith(f"\n\nLine 3: {NO_HELP}\n")
    others = [
        replace(HOPELESS, finding=replace(LINE, rank=rank), refusal=f"Line {rank}: {NO_HELP}") for rank in range(4, 9)
    ]
    text = text_of(proposed(moved()), HOPELESS, *others, replace(HOPELESS, refusal="struct s cannot be rearranged."))
    together = f"\n\nLines 3, 4, 5, 6 and 2 more: {NO_HELP}\nLine 3: struct s cannot be rearranged.\n"
    assert text.endswith(together)


ADVICE = """\
count per CPU: count used for each CPU and add up on reading
  because     80 stores of 7 CPUs
  reached by  pool_take (80 samples): writes used
  - A reader sees a sum that is about right.
"""


def test_advice_comes_behind_the_candidates_and_where_moving_does_not_help() -> None:
    text = text_of(proposed(moved(), advice=(SPLIT,)))
    assert text.endswith(f"\n\n{ADVICE}")
    assert text.index("recommended: candidate cjrcg") < text.index(ADVICE)
    refused = text_of(replace(proposed(advice=(SPLIT,)), refusal=f"Line 0: {NO_HELP}"))
    assert refused.endswith(f"\n\nline 0, pool: false sharing in pool\n\nLine 0: {NO_HELP}\n\n{ADVICE}")


def test_several_lines_begin_with_an_overview_and_a_single_one_needs_none() -> None:
    both = suggested(proposed(moved()), replace(proposed(aligned(), advice=(SPLIT,)), finding=replace(LINE, rank=4)))
    assert overview_rows(both) == [
        "recommended:",
        "  line 0  pool  candidate cjrcg: move used behind id  saves likely 88 of 100",
        "structure: pool (count per CPU)",
    ]
    assert render_text(both).split("\n\n")[1].startswith("recommended:\n  line 0")
    assert overview_rows(suggested(proposed(moved(), aligned()))) == []


def test_what_is_told_with_a_line_and_in_front_of_it() -> None:
    others = tuple(replace(LINE, rank=rank) for rank in (3, 4, 8, 9, 12))
    here = replace(suggested(proposed(moved())), findings=(LINE, *others), machine=SlabMachine(8, release=(6, 1)))
    _, _, slabs, _, line, *_ = render_text(here).splitlines()
    assert slabs == "slabs of Linux 6.1, 8 CPUs, pages of 4096 bytes"
    assert line == "line 0, struct pool (also line 3, 4, 8, 9 and 1 more): false sharing in pool"


def test_one_candidate_can_be_seen_in_full() -> None:
    text = render_candidate(suggested(proposed(moved(), aligned()), HOPELESS), 2)
    assert "\ncandidate jssbg: align used to 64 bytes\n" in text
    assert [word for word in ("recommended:", "Line 3") if word in text] == []


def answer(candidate: Candidate, label: str) -> list[str]:
    """The rows with this label."""
    rows = list(answer_rows(candidate, LINE))
    start = next((place for place, row in enumerate(rows) if row[0] == label), len(rows))
    ends = (place for place, row in enumerate(rows) if place > start and row[0])
    return [text for _, text in rows[start : next(ends, len(rows))]]


def test_memory_and_the_records_around_are_told_where_they_change() -> None:
    larger = replace(MEMORY, stride=192, pages_per_1000=48, bytes_per_100000=19660800)
    other = replace(MEMORY, cache="kmalloc-128", basis=SlabBasis.ASSUMED)
    assert list(memory_rows((MEMORY, other), (larger, other))) == [
        "pool_cache: 32 -> 48 pages for 1,000 objects, 12.2 -> 18.8 MiB for 100,000 (computed from the cache's flags)",
        "unchanged in slabs of kmalloc-128 (assumed)",
    ]
    named = [replace(MEMORY, cache=f"cache{number}") for number in range(5)]
    grown = [replace(one, pages_per_1000=32 + 4 * number) for number, one in enumerate(named)]
    rows = [row.partition(":")[0] for row in memory_rows(named, grown)]
    assert rows == ["cache4", "cache3", "cache2", "and 1 more cache", "unchanged in slabs of cache0"]
    larger, deeper = replace(MEMORY, objects_per_slab=21), replace(MEMORY, objects_per_slab=42, order=1)
    holders = (
        HolderChange("struct node", 128, 192, (MEMORY, larger)),
        HolderChange("struct link", 128, 192, (MEMORY, deeper)),
        *(HolderChange("struct list", 1024, 1088), HolderChange("struct tree", 256, 320)),
    )
    assert answer(replace(aligned(), holders=holders), "holders") == [
        "struct node 128 -> 192 bytes, 32 -> 21 objects in 1 page of pool_cache",
        "struct link 128 -> 192 bytes, 32 in 1 page -> 42 in 2 pages of pool_cache",
        "struct list 1,024 -> 1,088 bytes",
        "and 1 more record",
    ]
    assert answer(aligned(), "holders") == []


def test_rows_of_an_answer_that_vary() -> None:
    assert answer(aligned(), "size") == ["128 -> 192 bytes, 2 -> 3 lines"]
    assert answer(aligned(), "saves") == ["100 of 100 contended loads that the meeting explains"], "without a saving"
    proven, open_ = (replace(moved(), optimality=Optimality(12, bound, proven=bound == 12)) for bound in (12, 9))
    assert answer(proven, "packing") == ["proven: no legal order of the members is predicted to cost less"]
    assert answer(open_, "packing") == ["costs 12 as predicted; no legal order costs less than 9"]


def test_phases_are_counted_by_where_objects_really_start() -> None:
    promised = aligned()
    loose = replace(promised, residuals=(Residual("limit", "used", 64, 0.875, 0.25),), granules=(8, 8))
    assert "7 of 8 -> never" in meeting_rows(promised)[1]
    assert "7 of 8 -> 2 of 8" in meeting_rows(loose)[1]


def test_a_pair_that_still_meets_is_told_by_place() -> None:
    places = {"": (8, 3, 0.375), "ext4_inode_cache, i_data": (4, 1, 0.24), "xfs_inode, i_data": (4, 0, 0.0)}
    places["nfs_inode_cache, i_data"] = (4, 1, 0.24)
    proofs = [PhaseProof("limit", "used", place, 64, *counts) for place, counts in places.items()]
    proofs.append(PhaseProof("limit", "used", "shmem_inode_cache, i_data", 128, 1, 1, 1.0))
    residuals = Residual("limit", "used", 64, 0.875, 0.375), Residual("limit", "used", 128, 0.9375, 0.5)
    assert meeting_rows(replace(moved(), residuals=residuals, proofs=tuple(proofs))) == [
        "phases on one line of  64 bytes          128 bytes",
        "limit and used         7 of 8 -> 3 of 8  15 of 16 -> 8 of 16",
        "  of the objects 24% in ext4_inode_cache and 1 other, none in xfs_inode",
    ]


def moves(names: str) -> Candidate:
    """A record packed anew by moves of these members."""
    steps = tuple(Move(MoveKind.MOVE, name, "id") for name in names.split())
    return replace(moved(), moves=steps, strategy=Strategy.PACKED)


def test_a_candidate_with_many_steps_is_told_by_how_it_was_found() -> None:
    assert short_change(moves("used limit")) == "move used behind id; move limit behind id"
    assert short_change(moves("used limit owner")) == "packed anew: used, limit, owner"
    six = "packed anew: used, limit, owner, name and 2 more"
    assert short_change(moves("used limit owner name last first")) == six


def simulation(after: int) -> Simulation:
    """200 misses before, ``after`` then."""
    return Simulation((SimulatedLines(64, Misses(200), Misses(after), 1000, Interval(-0.6, -0.4)),), 1, 5000)


def rows_of(here: Suggested) -> list[str]:
    return alternative_rows(list(here.numbered()))


def test_the_table_of_candidates_has_what_the_replay_says() -> None:
    here = replace(suggested(proposed(moved(), aligned())), simulations={1: simulation(90)})
    assert rows_of(here) == [
        "         change                  saves     limits  size  pages/1,000  moved  diff  replayed",
        "* cjrcg  move used behind id        88  60 to 100   128           32      1     2    -55.0%",
        "  jssbg  align used to 64 bytes    100              192     32 -> 48      1     2         -",
    ]


def test_the_replay_orders_the_rows_and_leaves_the_names() -> None:
    here = suggested(proposed(replace(moved(), recommended=""), replace(aligned(), recommended="It saves most.")))
    text = render_text(replace(here, simulations={2: simulation(20), 1: simulation(90)}))
    rows = text[text.index("\ncandidates (saves") :].splitlines()
    assert [row.split()[:2] for row in rows[3:5]] == [["*", "jssbg"], ["cjrcg", "move"]]
    assert "\nrecommended: candidate jssbg: align used to 64 bytes\n" in text


def test_columns_that_say_nothing_are_left_out_and_a_table_keeps_to_the_width() -> None:
    head, _ = rows_of(suggested(proposed(replace(aligned(), costs=(NOW, NOW)))))
    bare = replace(NOW, memory=())
    shorter, _ = rows_of(suggested(proposed(replace(aligned(), costs=(bare, bare)))))
    assert head.split() == ["change", "saves", "size", "pages/1,000", "moved", "diff"]
    assert shorter.split() == ["change", "saves", "size", "moved", "diff"]
    long = tuple(Move(MoveKind.MOVE, "a_member_with_a_name_that_is_rather_long", name) for name in ("owner", "name"))
    wide = suggested(proposed(replace(moved(), moves=long), aligned()))
    rows = rows_of(replace(wide, simulations={1: simulation(90)}))
    assert max(map(len, rows)) <= 100
    assert rows[1].startswith("* cjrcg  move a_member_with_a_name_that…  ")


def test_a_prediction_is_held_against_the_replay() -> None:
    predicted = "predicted -25.0% (-40.0% to +10.0%)"
    for replayed, said in (
        (0.3, "within these limits the replay has -30.0%"),
        (0.5, "outside these limits the replay has -50.0%"),
    ):
        saving = ReplayedSaving(Bounds(-0.1, 0.4), 0.25, replayed, 0.25 - replayed, replayed <= 0.4)
        assert difference_row(saving) == f"{predicted}: {said}"


def test_a_saving_that_may_be_a_loss_is_told_with_reserve_unless_it_was_replayed() -> None:
    doubtful = proposed(replace(moved(), saving=replace(moved().saving, contended=Bounds(-60, 100))))
    said = "  - By its limits it may also lose: replay it (--trace) or benchmark it before you believe it.\n"
    text = text_of(doubtful)
    assert said in text
    assert "\n  saves       perhaps 88 of 100 contended loads of the record (-60 to 100); " in text
    assert said not in text_of(proposed(moved()))
    assert said not in render_text(replace(suggested(doubtful), simulations={1: simulation(90)}))
    overview = text_of(doubtful, proposed(replace(aligned(), recommended="It is small.")))
    assert "  saves perhaps 88 of 100 (-60 to 100)\n" in overview


def test_an_estimate_whose_limits_do_not_hold_what_was_replayed_is_no_likely_one() -> None:
    """Misses were counted, so the head line may not promise what only was estimated."""
    given = replace(suggested(proposed(moved())), simulations={1: simulation(170)})
    counted = ReplayedSaving(Bounds(0.6, 1.0), 0.88, 0.15, 0.73, False)
    beyond = "  - What was replayed is beyond the limits of the estimate: believe the replay (-15.0% misses)."
    told = render_text(replace(given, replayed={1: counted}))
    held_ = render_text(replace(given, replayed={1: replace(counted, predicted=Bounds(0.1, 1.0), holds=True)}))
    assert ("  saves       perhaps 88 of 100 contended loads" in told, beyond in told) == (True, True)
    assert ("  saves       likely 88 of 100 contended loads" in held_, beyond in held_) == (True, False)


def test_a_limit_leaves_the_first_candidates_and_lines_without_any() -> None:
    answers = (Suggestion(LINE, (moved(), aligned())), Suggestion(LINE, (), "no"), Suggestion(LINE, (aligned(),)))
    assert [len(one.candidates) for one in first_candidates(answers, 1)] == [1, 0]
    assert [len(one.candidates) for one in first_candidates(answers, 3)] == [2, 0, 1]


def test_heat_is_that_of_all_lines_of_the_record_with_the_most_contended_first() -> None:
    other = finding(POOL, [hot("name", 0, 8, reads=300), hot("id", 120, 4, writes=7)])
    assert list(member_heat(LINE, [LINE, other]).items()) == [
        *(("name", "300 contended"), ("limit", "100 contended"), ("used", "80 stores"), ("id", "7 stores")),
    ]
    inferred = replace(hot("used", 24, 8, reads=5), write_inferred="taking or releasing a lock writes it")
    assert member_heat(finding(POOL, [inferred]), ())["used"] == "5 contended, written", "though no store was sampled"


def test_an_excerpt_shows_an_anonymous_union_by_a_name_inside_it() -> None:
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", scalar("a"), scalar("b"), held("", either), scalar("c"), scalar("d"))
    rows = excerpt(layout, table(layout, either), frozenset({"y"}), frozenset({"y"}), {"y": "7 stores"})
    assert rows[1:9] == [
        "          ...",
        "        type                       b;                    /*     8     8 */",
        ">       union {",
        ">               type               x;                    /*    16     8 */",
        ">               type               y;                    /*    16     8 */ /* 7 stores */",
        ">       };                                               /*    16     8 */",
        "        type                       c;                    /*    24     8 */",
        "          ...",
    ]


def test_lines_of_which_nothing_is_shown_are_left_out_of_an_excerpt() -> None:
    sizes = {"a": 8, "b": 64, "c": 128, "d": 128, "e": 64, "f": 8}
    layout = struct("s", *(scalar(name, size) for name, size in sizes.items()))
    rows = excerpt(layout, table(layout), frozenset({"a", "f"}), frozenset())
    assert [row.split()[1][0] for row in rows if "type" in row] == ["a", "b", "e", "f"]
    assert rows[3:5] == ["          ...", "        /* --- cacheline 5 boundary (320 bytes) was 8 bytes ago --- */"]
