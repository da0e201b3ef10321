# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a pointer's name to a series, and what is told on the way."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from linesmith.analyzer.cli.output import check_destinations, deliver
from linesmith.analyzer.cli.series_output import Mailing
from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.report import inline as report
from linesmith.patches.inline.inline import Inlined, Wanted, inlined


def run(wanted: Wanted, rules: Path | None, format_: str, mailing: Mailing, *, dry_run: bool) -> None:
    """Make the series and write it, or tell what stands in its way; raises ``EditRefused`` then.

    ``rules`` is where the semantic patch goes.
    """
    mailing.check(wanted.tree)
    if rules is not None:
        check_destinations((rules,), ("rules", "output"))
    made = inlined(wanted, _tell)
    if rules is not None:
        deliver(made.rules.encode(), rules, ("rules", "output"))
    if made.standing or dry_run:
        deliver(report.render_plan(made, format_), mailing.file)
    else:
        _deliver(made, wanted.tree, format_, mailing)
    if made.standing:
        raise EditRefused(made.standing[0])


def _deliver(made: Inlined, tree: Path, format_: str, mailing: Mailing) -> None:
    if format_ != "json":
        mailing.deliver(made.series, tree)
        return
    files = [(file.name, file.content) for file in mailing.files(made.series, tree)]
    deliver(report.as_json(made, files), mailing.file)


def _tell(progress: str) -> None:
    """What takes time is told to a person who waits, not to a log."""
    if sys.stderr.isatty():
        click.echo(progress, err=True)
