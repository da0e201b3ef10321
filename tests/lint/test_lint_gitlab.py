# SPDX-License-Identifier: GPL-2.0-or-later
"""GitLab's code quality report."""

from __future__ import annotations

import json

from hypothesis import given
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.model import LintReport
from linesmith.analyzer.report.lint_gitlab import render_gitlab


def test_an_issue_has_what_gitlab_asks_for() -> None:
    (issue,) = json.loads(render_gitlab(report(violation(advice="move it back"))))
    assert len(issue.pop("fingerprint")) == 32
    assert issue == {
        "description": "struct a: was aligned to 64 bytes and is not any more (move it back)",
        "check_name": "alignment-lost",
        "severity": "minor",
        "location": {"path": "include/a.h", "lines": {"begin": 7}},
    }


def test_a_violation_without_a_place_is_shown_beside_the_intents() -> None:
    (issue,) = json.loads(render_gitlab(report(violation(file=None, line=None))))
    assert issue["location"] == {"path": "linesmith.toml", "lines": {"begin": 1}}


@given(hostile_reports)
def test_whatever_the_input_it_is_a_list_of_issues(found: LintReport) -> None:
    assert len(json.loads(render_gitlab(found))) == len(found.violations)
