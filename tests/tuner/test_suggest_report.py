# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith suggest`` writes, from candidates made by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
from hand_made import finding, held, hot, meeting, scalar, struct, table, union

from linesmith.analyzer.model import ElfIdentity, Finding
from linesmith.analyzer.report import suggest, suggest_json
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.tuner.suggestions import first_candidates, suggestions

DOCS = Path(__file__).resolve().parents[2] / "docs"
ELF = ElfIdentity("vmlinux", "c0ffee", "x86-64", "executable", True, 8, True, True)
LAYOUT = struct(
    "pool",
    *(scalar("name"), scalar("owner"), scalar("limit"), scalar("used"), scalar("first", 24), scalar("last", 24)),
    *(scalar("spare", 40), scalar("id", 4)),
)
LINE = meeting(LAYOUT, "used", "limit")


def json_of(*lines: Finding, limit: int = 5) -> dict[str, list[dict[str, object]]]:
    answers = first_candidates(suggestions(lines, table(LAYOUT)), limit)
    proposed = [(one.finding, one.candidates) for one in answers if one.candidates]
    refused = [(one.finding, one.refusal) for one in answers if not one.candidates]
    document: dict[str, list[dict[str, object]]] = json.loads(
        suggest_json.render_json(proposed, refused, ELF, "c2c.txt")
    )
    return document


def text_of(*lines: Finding, limit: int = 1) -> str:
    answers = suggestions(lines, table(LAYOUT), limit)
    proposed = [(one.finding, one.candidates) for one in answers if one.candidates]
    refused = [(one.finding, one.refusal) for one in answers if not one.candidates]
    return suggest.render_text(proposed, refused, ELF, "c2c.txt", table(LAYOUT))


def test_the_schema_beside_the_page_is_that_of_the_code() -> None:
    assert json.loads((DOCS / "schema-suggest.json").read_text()) == json.loads(json.dumps(suggest_json.schema()))


def test_a_document_obeys_the_schema() -> None:
    jsonschema.validate(json_of(LINE), suggest_json.schema())


def test_the_page_names_every_field_of_a_candidate() -> None:
    page = (DOCS / "schema-suggest.md").read_text()
    assert [name for name in json_of(LINE)["candidates"][0] if not re.search(rf"\.{name}\b", page)] == []


def test_candidates_are_numbered_through() -> None:
    candidates = json_of(LINE)["candidates"]
    assert [one["number"] for one in candidates] == list(range(1, len(candidates) + 1))


def test_a_limit_cuts_the_list_and_keeps_the_numbers() -> None:
    every, first = json_of(LINE)["candidates"], json_of(LINE, limit=2)["candidates"]
    assert first == every[:2]


def test_a_candidate_as_json() -> None:
    first = json_of(LINE)["candidates"][0]
    assert (first["line"], first["type"], first["size"], first["lines"]) == (0, "pool", 128, 2)
    assert first["moves"] == [
        {"kind": "move", "member": "used", "after": "id", "partner": None, "align": None, "members": []}
    ]
    assert first["predicted"] == {"before": 100, "after": 0, "hot_lines_before": 1, "hot_lines_after": 2}
    assert first["residual_phases"] == [
        {"first": "limit", "second": "used", "line_bytes": 64, "before": 0.875, "after": 0.0},
        {"first": "limit", "second": "used", "line_bytes": 128, "before": 0.9375, "after": 0.1875},
    ]


def test_a_line_without_candidates_is_refused_with_its_reason() -> None:
    hopeless = finding(LAYOUT, [hot("id", 128, 4, 9, 9)], rank=3)
    (refused,) = json_of(LINE, hopeless)["refused"]
    assert refused["line"] == 3
    assert "really share" in str(refused["reason"])
    assert "Line 3: moving members does not help" in text_of(LINE, hopeless)


def test_the_same_meeting_on_another_line_is_told_once() -> None:
    assert {one["line"] for one in json_of(LINE, meeting(LAYOUT, "used", "limit"))["candidates"]} == {0}


EXPECTED = """\
c2c.txt
vmlinux build-id c0ffee

line 0, struct pool: false sharing in pool

candidate 1: move used behind id
  contended   100 -> 0 samples of this profile that the meeting explains
  size        128 bytes (unchanged), 2 lines (now 2)
  hot lines   1 -> 2 lines hold the members seen hot
  together    limit and used on one line of 64 bytes: 7 of 8 phases -> never
  together    limit and used on one line of 128 bytes: 15 of 16 phases -> 3 of 16 phases
  - A phase is where an object starts within a line: 8 are possible, at multiples of 8 bytes.
  - Only the layout was checked: offset assertions, initialisers by position and memset ranges are in the source.
  other places for used, and how often each pair still meets on 64 bytes:
    first                        5 of 8 phases
    behind name                  6 of 8 phases
    behind first                 4 of 8 phases
    behind last                  1 of 8 phases
    behind spare                 never

  before:
    struct pool {
            ...
          type                       owner;                /*     8     8 */
          type                       limit;                /*    16     8 */
  >       type                       used;                 /*    24     8 */
          type                       first;                /*    32    24 */
            ...
          /* --- cacheline 1 boundary (64 bytes) was 16 bytes ago --- */
            ...

          /* size: 128, cachelines: 2, members: 8 */
          /* padding: 4 */
    };

  after:
    struct pool {
            ...
          type                       owner;                /*     8     8 */
          type                       limit;                /*    16     8 */
          type                       first;                /*    24    24 */
            ...
          /* --- cacheline 1 boundary (64 bytes) was 8 bytes ago --- */
            ...
          type                       id;                   /*   112     4 */

          /* XXX 4 bytes hole, try to pack */

  >       type                       used;                 /*   120     8 */

          /* size: 128, cachelines: 2, members: 8 */
          /* sum members: 124, holes: 1, sum holes: 4 */
    };
"""


def test_a_candidate_as_text() -> None:
    assert text_of(LINE) == EXPECTED


UNION = """\
  struct s {
          ...
        type                       b;                    /*     8     8 */
>       union {
>               type               x;                    /*    16     8 */
>               type               y;                    /*    16     8 */
>       };                                               /*    16     8 */
        type                       c;                    /*    24     8 */
          ...

        /* size: 40, cachelines: 1, members: 5 */
        /* last cacheline: 40 bytes */
  };
"""


def test_an_excerpt_shows_an_anonymous_union_by_a_name_inside_it() -> None:
    either = union("", scalar("x"), scalar("y"))
    layout = struct("s", scalar("a"), scalar("b"), held("", either), scalar("c"), scalar("d"))
    text = excerpt(layout, table(layout, either), frozenset({"y"}), frozenset({"y"}))
    assert "\n".join([*text, ""]) == UNION
