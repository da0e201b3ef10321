# SPDX-License-Identifier: GPL-2.0-or-later
"""The list of lint rules."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.rules import Rule


def render_rules(rules: Sequence[Rule]) -> str:
    """One line a rule: name, severity, what breaks it, and whether it has to be asked for."""
    width = max((len(one.name) for one in rules), default=0)
    return "".join(f"{one.name:{width}}  {one.severity:7}  {one.summary}{_extent(one)}\n" for one in rules)


def _extent(rule: Rule) -> str:
    said = ["off unless selected"] * (not rule.default) + ["on all records"] * rule.untuned
    return f" ({', '.join(said)})" if said else ""
