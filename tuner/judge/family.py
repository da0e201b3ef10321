# SPDX-License-Identifier: GPL-2.0-or-later
"""Several comparisons that lead to one decision: together they may err as often as one alone."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.model import Rules


def together(rules: Rules, comparisons: int) -> Rules:
    """The rules for each of so many comparisons, any of which may make a variant better.

    Their errors are added up (Bonferroni): it asks nothing of how the metrics of one boot depend on each other. Count
    the deciding comparisons of all variants that are confirmed; guards only forbid, so they need no correction.
    """
    return replace(rules, confidence=1 - (1 - rules.confidence) / max(1, comparisons))
