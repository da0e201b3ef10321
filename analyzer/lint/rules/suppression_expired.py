# SPDX-License-Identifier: GPL-2.0-or-later
"""``suppression-expired``: a suppression of ``linesmith.toml`` has come to its day."""

from __future__ import annotations

from linesmith.analyzer.lint.rules.rule import Rule, nothing
from linesmith.analyzer.model import Severity

RULE = Rule(
    name="suppression-expired",
    summary="a suppression has expired",
    severity=Severity.WARNING,
    check=nothing,  # reported by accepted.py, when all violations are there
    pair=False,
)
