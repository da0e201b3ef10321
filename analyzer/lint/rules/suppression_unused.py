# SPDX-License-Identifier: GPL-2.0-or-later
"""``suppression-unused``: a suppression of ``linesmith.toml`` met no violation."""

from __future__ import annotations

from linesmith.analyzer.lint.rules.rule import Rule, nothing
from linesmith.analyzer.model import Severity

RULE = Rule(
    name="suppression-unused",
    summary="a suppression matches no violation",
    severity=Severity.NOTE,
    check=nothing,  # reported by accepted.py, when all violations are there
    pair=False,
)
