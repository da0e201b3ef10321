# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person who waits is told of work that takes time; a log is told nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from linesmith.analyzer.cli.remarks import quiet
from linesmith.analyzer.cli.terminal import inert

CLEAR_LINE = "\r\x1b[K"


def tell_who_waits(progress: str) -> None:
    """A line on standard error where that is a terminal; names in it come from files and cannot steer it."""
    if sys.stderr.isatty() and not quiet():
        click.echo(inert(progress), err=True)


@contextmanager
def shown(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Progress for whoever looks; the line is cleared in the end."""
    if quiet() or not sys.stderr.isatty():
        yield _unwatched
        return
    try:
        yield _Progress(doing)
    finally:
        click.echo(CLEAR_LINE, err=True, nl=False)


def _unwatched(done: int, total: int) -> None:
    """Progress nobody looks at; being called at all lets an interrupt end the work."""


class _Progress:
    """One line that shows the share that is done, redrawn once per percent."""

    def __init__(self, doing: str) -> None:
        self.doing = inert(doing)
        self.percent = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total if total else 100
        if percent > self.percent:
            self.percent = percent
            click.echo(f"{CLEAR_LINE}{self.doing}: {percent} %", err=True, nl=False)
