# SPDX-License-Identifier: GPL-2.0-or-later
"""Workflow commands of GitHub: every line is one of ours, whatever the input holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.model import LintReport, Severity
from linesmith.analyzer.report.lint_github import render_github

COMMAND = re.compile(r"::(notice|warning|error) ([^\r\n]*?)::([^\r\n]*)")


def first_line(**fields: object) -> str:
    return render_github(report(violation(**fields))).partition("\n")[0]


def test_a_violation_is_a_command_with_its_place() -> None:
    assert first_line() == (
        "::warning file=include/a.h,line=7,title=alignment-lost::struct a: was aligned to 64 bytes and is not any more"
    )


@pytest.mark.parametrize(
    ("severity", "command"), [(Severity.NOTE, "notice"), (Severity.WARNING, "warning"), (Severity.ERROR, "error")]
)
def test_severities_have_commands_of_their_own(severity: Severity, command: str) -> None:
    assert first_line(severity=severity).startswith(f"::{command} ")


def test_advice_is_a_second_line_of_the_same_command() -> None:
    assert first_line(advice="move it back").endswith("is not any more%0Amove it back")


def test_signs_of_commands_are_escaped_in_values() -> None:
    told = first_line(file="a,b:c%\n.h", message="100%\r\n::set-output name=x::y")
    assert "file=a%2Cb%3Ac%25%0A.h," in told
    assert told.endswith("100%25  ::set-output name=x::y")


def test_a_violation_without_a_place_has_no_file() -> None:
    assert first_line(file=None, line=None).startswith("::warning title=alignment-lost::")


@given(hostile_reports)
def test_nothing_but_our_commands_and_the_summary_is_told(found: LintReport) -> None:
    *commands, summary = render_github(found).split("\n")[:-1]
    assert len(commands) == len(found.violations) + len(found.remarks)
    for line in commands:
        match = COMMAND.fullmatch(line)
        assert match
        names = [part.partition("=")[0] for part in match[2].split(",")]
        assert set(names) <= {"file", "line", "title"}
        assert len(names) == len(set(names))
    assert re.fullmatch(r"[\w ,;]+", summary)
