# SPDX-License-Identifier: GPL-2.0-or-later
"""``intent-contradiction``: ``linesmith.toml`` wants what no layout can have."""

from __future__ import annotations

from linesmith.analyzer.intent.check import CONTRADICTION
from linesmith.analyzer.lint.rules.rule import Rule, nothing
from linesmith.analyzer.model import Severity

RULE = Rule(
    name=CONTRADICTION,
    summary="intents contradict each other; reported by `linesmith intent --check`",
    severity=Severity.ERROR,
    check=nothing,  # it is about the file, not about records
    pair=False,
)
