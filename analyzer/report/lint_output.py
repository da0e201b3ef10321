# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms that a lint's result is written in, by the names of ``--format``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from linesmith.analyzer.model import LintReport
from linesmith.analyzer.report import lint_json, lint_text

RENDERINGS: Mapping[str, Callable[[LintReport], str]] = {
    "text": lint_text.render_text,
    "json": lint_json.render_json,
}
