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
    from linesmith.analyzer.report.prose import WIDTH

    if not rule:
        click.echo(visible(render_rules(catalogue.RULES)), nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(screen(None).columns, WIDTH)).print(Markdown(catalogue.page(rule)))
