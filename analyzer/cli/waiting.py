# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person who waits is told of work that takes time; a log is told of the steps that take long, and no more."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import click

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli.remarks import quiet, remark

CLEAR_LINE = "\r\x1b[K"
_NUMBER = re.compile(r"\d+")
# Seconds for which nobody wonders what a command does.
_PATIENCE = 30.0


def tell_who_waits(progress: str) -> None:
    """A line on standard error where that is a terminal; names in it come from files and cannot steer it."""
    if sys.stderr.isatty() and not quiet():
        click.echo(visible(progress), err=True)


class Steps:
    """Tells of steps of long work; where standard error is no terminal, of each once, and only when it takes long.

    That is ``patience`` seconds after this was made, where the work begins.
    """

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._begun = monotonic()
        self._told: set[str] = set()

    def __call__(self, step: str) -> None:
        """Say ``step``; the same with other numbers in it tells how far it is, which no log needs."""
        if sys.stderr.isatty():
            tell_who_waits(step)
            return
        kind = _NUMBER.sub("", step)
        if kind not in self._told and monotonic() - self._begun >= self._patience:
            self._told.add(kind)
            remark(step)


@contextmanager
def shown(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Progress for whoever looks; the line is cleared in the end. A log has one line of it, where it takes long."""
    if quiet() or not sys.stderr.isatty():
        yield _logged(doing, Steps())
        return
    try:
        yield _Progress(doing)
    finally:
        click.echo(CLEAR_LINE, err=True, nl=False)


def _logged(doing: str, steps: Steps) -> Callable[[int, int], None]:
    """Progress nobody looks at; being called at all lets an interrupt end the work."""
    return lambda done, total: steps(f"{doing}, which can take minutes the first time") if done < total else None


class _Progress:
    """One line that shows the share that is done, redrawn once per percent."""

    def __init__(self, doing: str) -> None:
        self.doing = visible(doing)
        self.percent = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total if total else 100
        if percent > self.percent:
            self.percent = percent
            click.echo(f"{CLEAR_LINE}{self.doing}: {percent} %", err=True, nl=False)
