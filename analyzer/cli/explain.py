# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith explain``: what a lint rule says, why, and what to do about it."""

from __future__ import annotations

import click

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.output import screen


@click.command()
@click.argument("rule", metavar="[RULE]", required=False)
def command(rule: str | None) -> None:
    """Show the page of a lint rule. Without RULE, list all rules."""
    from linesmith.analyzer.lint.rules import catalogue
    from linesmith.analyzer.report.lint import render_rules
    from linesmith.analyzer.report.markdown import page_lines

    if not rule:
        click.echo(visible(render_rules(catalogue.RULES)), nl=False)
        return
    shown = screen(None)
    for line in page_lines(catalogue.page(rule), shown.columns):
        text = visible(line.text)
        click.echo(click.style(text, bold=True) if line.heads else text, color=shown.colour)
