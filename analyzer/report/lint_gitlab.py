# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations as GitLab's code quality report, which it shows beside the changed lines of a merge request."""

from __future__ import annotations

import msgspec

from linesmith.analyzer.model import LintReport, Severity, Violation
from linesmith.analyzer.report.lint_key import fingerprint
from linesmith.analyzer.report.lint_text import sentence

_SEVERITIES = {Severity.NOTE: "info", Severity.WARNING: "minor", Severity.ERROR: "major"}


def render_gitlab(report: LintReport) -> str:
    """A JSON list; a violation without a place is shown at the first line of the file with intents."""
    return msgspec.json.format(msgspec.json.encode(list(map(_issue, report.violations))), indent=2).decode() + "\n"


def _issue(one: Violation) -> dict[str, object]:
    return {
        "description": f"{sentence(one)} ({one.advice})" if one.advice else sentence(one),
        "check_name": one.rule,
        "fingerprint": fingerprint(one),
        "severity": _SEVERITIES[one.severity],
        "location": {"path": one.file or "linesmith.toml", "lines": {"begin": max(one.line or 1, 1)}},
    }
