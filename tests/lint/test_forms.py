# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms of a lint's report that are lines or JSON: text, GitHub's commands, GitLab's code quality, our document."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
from hypothesis import given, settings
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.model import Accepted, Figure, LintReport, Severity
from linesmith.analyzer.report import lint_json
from linesmith.analyzer.report.lint_github import render_github
from linesmith.analyzer.report.lint_gitlab import render_gitlab
from linesmith.analyzer.report.lint_key import fingerprint
from linesmith.analyzer.report.lint_text import render_text

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMAND = re.compile(r"::(notice|warning|error) ([^\r\n]*?)::([^\r\n]*)")
SHARES = "shares a line with map"
WHOLE = report(
    violation(member="lock", message=SHARES, advice="move it"),
    violation(severity=Severity.NOTE, member="head", message=SHARES, advice="move it"),
    violation(severity=Severity.ERROR, file=None, line=None, advice="no"),
    violation(severity=Severity.NOTE, file="a,b:c%\n.h", message="100%\r\n::set-output name=x::y"),
    accepted=(Accepted(violation(), "known", "baseline"),),
    remarks=("struct b is not in NEW",),
)


def test_the_text_has_places_in_front_rules_behind_and_each_advice_once() -> None:
    assert render_text(WHOLE) == (
        "include/a.h:7: WARNING: struct a: lock shares a line with map [alignment-lost]\n"
        "    move it\n"
        "include/a.h:7: NOTE: struct a: head shares a line with map [alignment-lost]\n"
        "new: ERROR: struct a: was aligned to 64 bytes and is not any more [alignment-lost]\n"
        "    no\n"
        "a,b:c% .h:7: NOTE: struct a: 100%  ::set-output name=x::y [alignment-lost]\n"
        "note: struct b is not in NEW\n"
        "1 error, 1 warning, 2 notes in 12 records, 3 changed, 2 watched; 1 accepted\n"
    )


def test_a_single_build_has_nothing_that_changed() -> None:
    assert render_text(report(base="", compared=1)) == "no violations in 1 record, 2 watched\n"
    assert json.loads(lint_json.render_json(report(base="")))["base"] is None


def test_the_commands_of_github_escape_what_has_a_meaning_in_them() -> None:
    assert render_github(WHOLE).splitlines() == [
        "::warning file=include/a.h,line=7,title=alignment-lost::struct a: lock shares a line with map%0Amove it",
        "::notice file=include/a.h,line=7,title=alignment-lost::struct a: head shares a line with map%0Amove it",
        "::error title=alignment-lost::struct a: was aligned to 64 bytes and is not any more%0Ano",
        "::notice file=a%2Cb%3Ac%25%0A.h,line=7,title=alignment-lost::struct a: 100%25  ::set-output name=x::y",
        "::notice title=linesmith::struct b is not in NEW",
        "1 error, 1 warning, 2 notes in 12 records, 3 changed, 2 watched; 1 accepted",
    ]


def test_the_issues_of_gitlab_have_what_it_asks_for() -> None:
    issues = json.loads(render_gitlab(WHOLE))
    assert {len(issue.pop("fingerprint")) for issue in issues} == {32}
    assert issues[0] == {
        "description": "struct a: lock shares a line with map (move it)",
        "check_name": "alignment-lost",
        "severity": "minor",
        "location": {"path": "include/a.h", "lines": {"begin": 7}},
    }
    assert issues[2]["location"] == {"path": "linesmith.toml", "lines": {"begin": 1}}, "beside the intents"


@settings(max_examples=40)
@given(hostile_reports)
def test_no_input_breaks_a_line_or_a_command(found: LintReport) -> None:
    advice = {one.advice for one in found.violations} - {""}
    lines = render_text(found).split("\n")[:-1]
    assert len(lines) == len(found.violations) + len(advice) + len(found.remarks) + 1
    assert len(json.loads(render_gitlab(found))) == len(found.violations)
    *commands, summary = render_github(found).split("\n")[:-1]
    assert len(commands) == len(found.violations) + len(found.remarks)
    for line in commands:
        match = COMMAND.fullmatch(line)
        assert match
        names = [part.partition("=")[0] for part in match[2].split(",")]
        assert set(names) <= {"file", "line", "title"}
        assert len(names) == len(set(names))
    assert re.fullmatch(r"[\w ,;]+", summary)


def test_the_schema_beside_the_page_is_that_of_the_code_and_the_page_names_every_field() -> None:
    assert json.loads((DOCS / "schema-lint.json").read_text()) == json.loads(json.dumps(lint_json.schema()))
    page = (DOCS / "schema-lint.md").read_text()
    views: dict[str, dict[str, object]] = json.loads(json.dumps(lint_json.schema()["$defs"]))
    fields = {field for view in views.values() for field in json.loads(json.dumps(view.get("properties", {})))}
    assert [field for field in sorted(fields) if not re.search(rf"[`.]{field}(\[\])?`", page)] == []


def test_a_document_obeys_the_schema() -> None:
    one = violation(figures=(Figure("size", 192, 200), Figure("objects per slab", 21, None, "objects")))
    text = lint_json.render_json(report(one, accepted=(Accepted(violation(type="struct b"), "known", "baseline"),)))
    jsonschema.validate(json.loads(text), lint_json.schema())


def test_a_fingerprint_outlives_lines_and_figures() -> None:
    before, after = violation(line=3, message="grew to 65"), violation(line=9, message="grew to 70")
    assert fingerprint(before) == fingerprint(after) != fingerprint(violation(subject="another"))
