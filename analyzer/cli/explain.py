# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith explain``: what a lint rule says, why, and what to do about it."""

from __future__ import annotations

import click

from linesmith.analyzer.cli.terminal import inert


@click.command()
@click.argument("rule", metavar="[RULE]", required=False)
def command(rule: str | None) -> None:
    """Show the page of a lint rule; without RULE, list them all."""
    from linesmith.analyzer import rules
    from linesmith.analyzer.report.lint_rules import render_rules

    click.echo(inert(rules.page(rule) if rule else render_rules(rules.RULES)), nl=False)
