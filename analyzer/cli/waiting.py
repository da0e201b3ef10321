# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person who waits is told of work that takes time; a log is told nothing."""

from __future__ import annotations

import sys

import click

from linesmith.analyzer.cli.terminal import inert


def tell_who_waits(progress: str) -> None:
    """A line on standard error where that is a terminal; names in it come from files and cannot steer it."""
    if sys.stderr.isatty():
        click.echo(inert(progress), err=True)
