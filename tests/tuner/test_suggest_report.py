# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith suggest`` writes, from candidates made by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
from hand_made import finding, held, hot, scalar, struct, table, union
from proposals_by_hand import LINE, POOL, SPLIT, aligned, moved, proposed, suggested

from linesmith.analyzer.model import Bounds, SlabMachine
from linesmith.analyzer.report import suggest, suggest_json
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.analyzer.report.suggested import Proposed

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOPELESS = Proposed(finding(POOL, [hot("id", 120, 4, 9, 9)], rank=3), refusal="Line 3: moving members does not help.")


def json_of(*lines: Proposed) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(suggest_json.render_json(suggested(*lines)))
    return document


def text_of(*lines: Proposed) -> str:
    return suggest.render_text(suggested(*lines))


def test_the_schema_beside_the_page_is_that_of_the_code() -> None:
    assert json.loads((DOCS / "schema-suggest.json").read_text()) == json.loads(json.dumps(suggest_json.schema()))


def test_a_document_obeys_the_schema() -> None:
    jsonschema.validate(json_of(proposed(moved(), aligned()), HOPELESS), suggest_json.schema())


def test_the_page_names_every_field_of_a_candidate() -> None:
    page = (DOCS / "schema-suggest.md").read_text()
    assert [name for name in json_of(proposed(moved()))["candidates"][0] if not re.search(rf"\.{name}\b", page)] == []


def test_candidates_are_numbered_through() -> None:
    document = json_of(proposed(moved(), aligned()), proposed(aligned()))
    assert [one["number"] for one in document["candidates"]] == [1, 2, 3]


def test_a_candidate_as_json() -> None:
    first = json_of(proposed(moved(), aligned()))["candidates"][0]
    assert (first["line"], first["type"], first["size"], first["lines"]) == (0, "pool", 128, 2)
    assert first["moves"] == [
        {"kind": "move", "member": "used", "after": "id", "partner": None, "align": None, "members": []}
    ]
    assert (first["strategy"], first["churn"]) == ("one move", {"members": 1, "lines": 2})
    assert first["cost_before"]["contended"] == {"least": 90, "most": 100}
    assert first["cost_after"]["contended"] == {"least": 0, "most": 0}
    assert first["residual_phases"][0] == {
        "first": "limit",
        "second": "used",
        "line_bytes": 64,
        "before": 0.875,
        "after": 0,
    }
    (steps,) = first["steps"]
    assert (steps["victim"], steps["writer"]) == ("limit", "used")
    assert steps["before"][1] == {
        "cpu": "B",
        "function": "pool_full",
        "member": "limit",
        "writes": False,
        "line": 0,
        "states": {"A": "S", "B": "S"},
        "what": "modified on A",
        "cycles": 456,
        "needless": True,
    }


def test_what_is_recommended_is_told_with_the_reason_and_what_is_not_without() -> None:
    first, second = json_of(proposed(moved(), aligned()))["candidates"]
    assert (first["recommended"], second["recommended"]) == ("The smallest change that leaves nothing.", "")


def test_a_line_without_candidates_is_refused_with_its_reason() -> None:
    assert json_of(proposed(moved()), HOPELESS)["refused"] == [
        {"line": 3, "reason": "Line 3: moving members does not help."}
    ]
    assert text_of(proposed(moved()), HOPELESS).endswith("\n\nLine 3: moving members does not help.\n")


def test_lines_refused_for_one_reason_stand_together() -> None:
    others = [
        replace(HOPELESS, finding=replace(LINE, rank=rank), refusal=f"Line {rank}: moving members does not help.")
        for rank in range(4, 9)
    ]
    text = text_of(proposed(moved()), HOPELESS, *others, replace(HOPELESS, refusal="struct s cannot be rearranged."))
    assert text.endswith(
        "\n\nLines 3, 4, 5, 6 and 2 more: moving members does not help.\nLine 3: struct s cannot be rearranged.\n"
    )


NOISE = "Nothing is recommended: 12 samples less would be lost in the noise (19)."


def test_below_the_noise_nothing_is_recommended_and_told_why() -> None:
    line = proposed(replace(moved(), recommended=""), declined=NOISE)
    assert json_of(line)["declined"] == [{"line": 0, "reason": NOISE}]
    assert (
        text_of(line)
        == f"""\
c2c.txt
vmlinux build-id c0ffee

line 0, struct pool: false sharing in pool

{NOISE}

candidates, in full with --candidate cjrcg and so on (saves contended loads, of 100):
         change               saves     limits  size  pages/1,000  moved  diff
  cjrcg  move used behind id     88  60 to 100   128           32      1     2
"""
    )


ADVICE = """\
count per CPU: count used for each CPU and add up on reading
  because     80 stores of 7 CPUs
  reached by  pool_take (80 samples): writes used
  - A reader sees a sum that is about right.
"""


def test_advice_comes_behind_the_candidates() -> None:
    text = text_of(proposed(moved(), advice=(SPLIT,)))
    assert text.endswith(f"\n\n{ADVICE}")
    assert text.index("recommended: candidate cjrcg") < text.index(ADVICE)


def test_advice_is_shown_where_moving_does_not_help() -> None:
    text = text_of(replace(proposed(advice=(SPLIT,)), refusal="Line 0: moving members does not help."))
    head = "line 0, pool: false sharing in pool\n\nLine 0: moving members does not help."
    assert text.endswith(f"\n\n{head}\n\n{ADVICE}")


def test_advice_as_json() -> None:
    document = json_of(proposed(moved(), advice=(SPLIT,)))
    jsonschema.validate(document, suggest_json.schema())
    (line,) = document["structure"]
    assert line["line"] == 0
    assert [(one["kind"], one["members"]) for one in line["advice"]] == [("count per CPU", ["used"])]


def test_other_lines_of_the_record_are_named_with_the_one_that_is_told() -> None:
    here = suggested(proposed(moved()))
    others = tuple(replace(LINE, rank=rank) for rank in (3, 4, 8, 9, 12))
    text = suggest.render_text(replace(here, findings=(LINE, *others)))
    assert "\n\nline 0, struct pool (also line 3, 4, 8, 9 and 1 more): false sharing in pool\n" in text


def test_one_candidate_can_be_seen_in_full() -> None:
    text = suggest.render_candidate(suggested(proposed(moved(), aligned()), HOPELESS), 2)
    assert "\ncandidate jssbg: align used to 64 bytes\n" in text
    assert "recommended:" not in text
    assert "Line 3" not in text


def test_a_saving_that_may_be_a_loss_is_not_called_likely() -> None:
    doubtful = replace(moved(), saving=replace(moved().saving, contended=Bounds(-90, 100)))
    assert "\n  saves       perhaps 88 of 100 contended loads of the record (-90 to 100); " in text_of(
        proposed(doubtful)
    )
    overview = text_of(proposed(doubtful), proposed(replace(aligned(), recommended="It is small.")))
    assert "  saves perhaps 88 of 100 (-90 to 100)\n" in overview


def test_the_machine_whose_slabs_hold_the_objects_is_told() -> None:
    here = replace(suggested(proposed(moved())), machine=SlabMachine(8, release=(6, 1)))
    assert suggest.render_text(here).splitlines()[2] == "slabs of Linux 6.1, 8 CPUs, pages of 4096 bytes"


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


UNION = """\
  struct s {
          ...
        type                       b;                    /*     8     8 */
>       union {
>               type               x;                    /*    16     8 */
>               type               y;                    /*    16     8 */ /* 7 stores */
>       };                                               /*    16     8 */
        type                       c;                    /*    24     8 */
          ...

        /* size: 40, cachelines: 1, members: 5 */
        /* last cacheline: 40 bytes */
  };
"""


def test_an_excerpt_shows_an_anonymous_union_by_a_name_inside_it_and_its_heat() -> None:
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", scalar("a"), scalar("b"), held("", either), scalar("c"), scalar("d"))
    text = excerpt(layout, table(layout, either), frozenset({"y"}), frozenset({"y"}), {"y": "7 stores"})
    assert "\n".join([*text, ""]) == UNION
