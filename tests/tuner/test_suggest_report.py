# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith suggest`` writes, from candidates made by hand: a whole answer, then the rows that vary."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documented import obeys, page_of
from hand_made import finding, held, hot, scalar, struct, table, union
from proposals_by_hand import LINE, MEMORY, POOL, SPLIT, aligned, moved, proposed, replayed, suggested

from linesmith.analyzer.model import (
    NOT_JUDGED,
    Candidate,
    HolderChange,
    Move,
    MoveKind,
    Optimality,
    PhaseProof,
    Residual,
    SlabBasis,
    SlabMachine,
    Strategy,
)
from linesmith.analyzer.report import suggest
from linesmith.analyzer.report.candidate import Proposed, short_change
from linesmith.analyzer.report.layout import excerpt, member_heat
from linesmith.tuner.propose.candidates import Suggestion, first_candidates

DOCS = Path(__file__).resolve().parents[2] / "docs"
WHOLE = Path(__file__).with_name("sources") / "suggest.txt"
NO_HELP = "moving members does not help."
HOPELESS = Proposed(finding(POOL, [hot("id", 120, 4, 9, 9)], rank=3), refusal=f"Line 3: {NO_HELP}")


def json_of(*lines: Proposed) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(suggest.render_json(suggested(*lines)))
    obeys(document, "suggest")
    return document


def text_of(*lines: Proposed, **fields: Any) -> str:
    return suggest.render_text(replace(suggested(*lines), **fields))


def test_the_page_names_every_field_of_a_candidate() -> None:
    page = page_of("suggest")
    assert [name for name in json_of(proposed(moved()))["candidates"][0] if not re.search(rf"\.{name}\b", page)] == []


def test_several_lines_as_json() -> None:
    document = json_of(proposed(moved(), aligned(), advice=(SPLIT,)), proposed(aligned()), HOPELESS)
    first, second, third = document["candidates"]
    assert [one["number"] for one in (first, second, third)] == [1, 2, 3]
    assert (first["recommended"], second["recommended"]) == ("The smallest change that leaves nothing.", "")
    move: dict[str, Any] = {
        "kind": "move",
        "member": "used",
        "after": "id",
        "partner": None,
        "align": None,
        "members": [],
    }
    assert (first["moves"], first["churn"]) == ([move], {"members": 1, "lines": 2})
    judgement = first["judgement"]
    assert (judgement["before"], judgement["after"], judgement["interval"]) == (100, 12, {"low": -0.95, "high": -0.6})
    (steps,) = first["steps"]
    access = {"cpu": "B", "function": "pool_full", "member": "limit", "writes": False, "line": 0}
    effect = {"states": {"A": "S", "B": "S"}, "what": "modified on A", "cycles": 456, "needless": True}
    assert steps["before"][1] == access | effect
    assert document["refused"] == [{"line": 3, "reason": f"Line 3: {NO_HELP}"}]
    (line,) = document["structure"]
    assert [(one["kind"], one["members"]) for one in line["advice"]] == [("count per CPU", ["used"])]


def test_a_line_as_text() -> None:
    assert text_of(proposed(moved(), aligned())) == WHOLE.read_text()


def test_below_the_noise_nothing_is_recommended_and_told_why() -> None:
    noise = "Nothing is recommended: 12 samples less would be lost in the noise (19)."
    line = proposed(replace(moved(), recommended=""), declined=noise)
    assert json_of(line)["declined"] == [{"line": 0, "reason": noise}]
    head = "candidates, in full with --candidate cjrcg and so on (saves contended loads, of 100):"
    assert f"false sharing in pool\n\n{noise}\n\n{head}\n" in text_of(line)


def test_refused_lines_come_last_and_those_refused_for_one_reason_together() -> None:
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


def test_several_lines_begin_with_an_overview() -> None:
    both = text_of(proposed(moved()), replace(proposed(aligned(), advice=(SPLIT,)), finding=replace(LINE, rank=4)))
    assert both.split("\n\n")[1].splitlines() == [
        "recommended:",
        "  line 0  pool  candidate cjrcg: move used behind id  saves 88 of 100 (-88.0%, -95.0% to -60.0%)",
        "structure: pool (count per CPU)",
    ]


def test_what_is_told_with_a_line_and_in_front_of_it() -> None:
    others = tuple(replace(LINE, rank=rank) for rank in (3, 4, 8, 9, 12))
    text = text_of(proposed(moved()), findings=(LINE, *others), machine=SlabMachine(8, release=(6, 1)))
    _, _, slabs, _, line, *_ = text.splitlines()
    assert slabs == "slabs of Linux 6.1, 8 CPUs, pages of 4096 bytes"
    assert line == "line 0, struct pool (also line 3, 4, 8, 9 and 1 more): false sharing in pool"


LARGER = replace(MEMORY, stride=192, pages_per_1000=48, bytes_per_100000=19660800)
OTHER = replace(MEMORY, cache="kmalloc-128", basis=SlabBasis.ASSUMED)
CACHES = [replace(MEMORY, cache=f"cache{number}") for number in range(5)]
GROWN = [replace(one, pages_per_1000=32 + 4 * number) for number, one in enumerate(CACHES)]
HOLDERS = (
    HolderChange("struct node", 128, 192, (MEMORY, replace(MEMORY, objects_per_slab=21))),
    HolderChange("struct link", 128, 192, (MEMORY, replace(MEMORY, objects_per_slab=42, order=1))),
    *(HolderChange("struct list", 1024, 1088), HolderChange("struct tree", 256, 320)),
)
PLACES = {"": (8, 3, 0.375), "ext4_inode_cache, i_data": (4, 1, 0.24), "xfs_inode, i_data": (4, 0, 0.0)}
PROOFS = (
    *(PhaseProof("limit", "used", place, 64, *counts) for place, counts in PLACES.items()),
    PhaseProof("limit", "used", "nfs_inode_cache, i_data", 64, 4, 1, 0.24),
    PhaseProof("limit", "used", "shmem_inode_cache, i_data", 128, 1, 1, 1.0),
)
STILL = Residual("limit", "used", 64, 0.875, 0.375), Residual("limit", "used", 128, 0.9375, 0.5)


def costing(*memory: tuple[Any, ...]) -> Candidate:
    before, after = memory
    return replace(aligned(), memory=(before, after))


@pytest.mark.parametrize(
    ("candidate", "rows"),
    [
        pytest.param(aligned(), ["size 128 -> 192 bytes, 2 -> 3 lines"], id="a larger record"),
        pytest.param(
            replace(moved(), judgement=replace(NOT_JUDGED, refusal="Nothing was replayed: no bytes.")),
            ["saves nothing is known replayed Nothing was replayed: no bytes."],
            id="what is not judged",
        ),
        pytest.param(
            replace(moved(), judgement=replayed(12, runs=1)),
            ["saves 88 of 100 (-88.0%, -95.0% to -60.0%) misses on all lines of the record"],
            id="a recorded run",
        ),
        pytest.param(
            replace(moved(), optimality=Optimality(12, 12, proven=True)),
            ["packing proven: no legal order of the members is predicted to cost less"],
            id="a proof",
        ),
        pytest.param(
            replace(moved(), optimality=Optimality(12, 9, proven=False)),
            ["packing costs 12 as predicted; no legal order costs less than 9"],
            id="a bound",
        ),
        pytest.param(
            costing((MEMORY, OTHER), (LARGER, OTHER)),
            [
                "memory pool_cache: 32 -> 48 pages for 1,000 objects, 12.2 -> 18.8 MiB for 100,000",
                "(computed from the cache's flags)",
                "unchanged in slabs of kmalloc-128 (assumed)",
            ],
            id="memory that changes",
        ),
        pytest.param(costing(tuple(CACHES), tuple(GROWN)), ["and 1 more cache"], id="many caches"),
        pytest.param(
            replace(aligned(), holders=HOLDERS),
            [
                "holders struct node 128 -> 192 bytes, 32 -> 21 objects in 1 page of pool_cache",
                "struct link 128 -> 192 bytes, 32 in 1 page -> 42 in 2 pages of pool_cache",
                "struct list 1,024 -> 1,088 bytes",
                "and 1 more record",
            ],
            id="records around it",
        ),
        pytest.param(aligned(), ["limit and used 7 of 8 -> never"], id="objects begin with a line"),
        pytest.param(
            replace(aligned(), residuals=(Residual("limit", "used", 64, 0.875, 0.25),), granules=(8, 8)),
            ["limit and used 7 of 8 -> 2 of 8"],
            id="objects begin anywhere",
        ),
        pytest.param(
            replace(moved(), residuals=STILL, proofs=PROOFS),
            [
                "together phases on one line of 64 bytes 128 bytes",
                "limit and used 7 of 8 -> 3 of 8 15 of 16 -> 8 of 16",
                "of the objects 24% in ext4_inode_cache and 1 other, none in xfs_inode",
            ],
            id="a pair that still meets is told by place",
        ),
    ],
)
def test_rows_of_an_answer_that_vary(candidate: Candidate, rows: list[str]) -> None:
    text = suggest.render_candidate(suggested(proposed(candidate), HOPELESS), 1)
    assert " ".join(rows) in " ".join(text.split())


def test_a_candidate_in_full_has_no_recommendation_and_no_other_lines() -> None:
    text = suggest.render_candidate(suggested(proposed(moved(), aligned()), HOPELESS), 2)
    assert "\ncandidate jssbg: align used to 64 bytes\n" in text
    assert [word for word in ("recommended:", "Line 3", "holders") if word in text] == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("used limit", "move used behind id; move limit behind id"),
        ("used limit owner", "packed anew: used, limit, owner"),
        ("used limit owner name last first", "packed anew: used, limit, owner, name and 2 more"),
    ],
)
def test_a_candidate_with_many_steps_is_told_by_how_it_was_found(names: str, said: str) -> None:
    steps = tuple(Move(MoveKind.MOVE, name, "id") for name in names.split())
    assert short_change(replace(moved(), moves=steps, strategy=Strategy.PACKED)) == said


def rows_of(*lines: Proposed, **fields: Any) -> list[str]:
    """The table of candidates without its title."""
    text = text_of(*lines, **fields)
    return text[text.index("\ncandidates") :].splitlines()[2:]


def test_candidates_side_by_side() -> None:
    line = proposed(replace(aligned(), recommended="It saves most."), replace(moved(), recommended=""))
    assert rows_of(line) == [
        "           change                  saves  misses      80% interval  size  pages/1,000  moved  diff",
        "  * jssbg  align used to 64 bytes     96  -96.0%  -95.0% to -60.0%   192     32 -> 48      1     2",
        "    cjrcg  move used behind id        88  -88.0%  -95.0% to -60.0%   128           32      1     2",
    ]


def test_columns_that_say_nothing_are_left_out_and_a_table_keeps_to_the_width() -> None:
    unknown = replace(costing((), ()), judgement=NOT_JUDGED)
    two = proposed(unknown, unknown)
    assert rows_of(two)[0].split() == ["change", "size", "moved", "diff"]
    long = tuple(Move(MoveKind.MOVE, "a_member_with_a_name_that_is_rather_long", name) for name in ("owner", "name"))
    assert max(map(len, rows_of(proposed(replace(moved(), moves=long), aligned())))) <= 100


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


def test_an_excerpt_shows_an_anonymous_union_by_a_name_inside_it_and_leaves_lines_out() -> None:
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", scalar("a"), scalar("b"), held("", either), scalar("c"), scalar("d"))
    rows = excerpt(layout, table(layout, either), frozenset({"y"}), frozenset({"y"}), {"y": "7 stores"})
    assert [" ".join(row.split()) for row in rows[1:8]] == [
        "...",
        "type b; /* 8 8 */",
        "> union {",
        "> type x; /* 16 8 */",
        "> type y; /* 16 8 */ /* 7 stores */",
        "> }; /* 16 8 */",
        "type c; /* 24 8 */",
    ]
    sizes = {"a": 8, "b": 64, "c": 128, "d": 128, "e": 64, "f": 8}
    layout = struct("s", *(scalar(name, size) for name, size in sizes.items()))
    rows = excerpt(layout, table(layout), frozenset({"a", "f"}), frozenset())
    assert [row.split()[1][0] for row in rows if "type" in row] == ["a", "b", "e", "f"]
    assert rows[3:5] == ["          ...", "        /* --- cacheline 5 boundary (320 bytes) was 8 bytes ago --- */"]
