# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms that a lint's result is written in, by the names of ``--format``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from linesmith.analyzer.model import LintReport
from linesmith.analyzer.report.lint_github import render_github
from linesmith.analyzer.report.lint_gitlab import render_gitlab
from linesmith.analyzer.report.lint_json import render_json
from linesmith.analyzer.report.lint_markdown import render_markdown
from linesmith.analyzer.report.lint_sarif import render_sarif
from linesmith.analyzer.report.lint_text import render_text

RENDERINGS: Mapping[str, Callable[[LintReport], str]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
    "gitlab": render_gitlab,
    "markdown": render_markdown,
}
