# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations as workflow commands of GitHub, which shows them beside the changed lines.

How values are escaped: docs.github.com, "Workflow commands for GitHub Actions", and ``toCommand`` of @actions/core.
"""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import LintReport, Severity, Violation
from linesmith.analyzer.report.lint_text import sentence, summary

_COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}
_VALUE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_DATA = str.maketrans(_VALUE)
_PROPERTY = str.maketrans({**_VALUE, ":": "%3A", ",": "%2C"})


def render_github(report: LintReport) -> str:
    """A command a violation and a remark, then the summary, which holds nothing of the input."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: LintReport) -> Iterator[str]:
    yield from map(_violation, report.violations)
    for remark in report.remarks:
        yield f"::notice title=linesmith::{remark.translate(_DATA)}"
    yield summary(report)


def _violation(one: Violation) -> str:
    properties = {"file": one.file, "line": one.line if one.file else None, "title": one.rule}
    said = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in properties.items() if value)
    text = f"{sentence(one)}\n{one.advice}" if one.advice else sentence(one)
    return f"::{_COMMANDS[one.severity]} {said}::{text.translate(_DATA)}"
