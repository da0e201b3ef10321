# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads an ELF file for a command, with progress and remarks on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.dwarf import Progress, Reading, read_layouts, unwatched
from linesmith.analyzer.errors import CodeMissing, DebugInfoMissing

if TYPE_CHECKING:
    from linesmith.analyzer.access import AccessMap, AccessReading

CLEAR_LINE = "\r\x1b[K"


def load(elf: Path) -> Reading:
    """The layouts of ``elf``; says how far it is when standard error is a terminal, and what went less than well."""
    with shown(f"reading {elf.name}") as progress:
        reading = read_layouts(elf, progress)
    _say(reading.remarks)
    return reading


def load_accesses(elf: Path) -> AccessReading:
    """The access map of ``elf``, made when it is not at hand; says the same things."""
    from linesmith.analyzer.access import read_accesses  # imports numpy, which most commands do without

    with shown(f"following the code of {elf.name}") as progress:
        reading = read_accesses(elf, progress)
    _say(reading.remarks)
    return reading


def load_accesses_if_any(elf: Path) -> AccessMap | None:
    """The access map of ``elf``; where none can be made it says why, for there is weaker evidence to go by."""
    try:
        return load_accesses(elf).accesses
    except (CodeMissing, DebugInfoMissing) as error:
        _say((f"{error}; so what functions declare must tell what they touch",))
        return None


@contextmanager
def shown(doing: str) -> Iterator[Progress]:
    """Progress for whoever looks; the line is cleared in the end."""
    if not sys.stderr.isatty():
        yield unwatched
        return
    try:
        yield _Progress(doing)
    finally:
        click.echo(CLEAR_LINE, err=True, nl=False)


def _say(remarks: tuple[str, ...]) -> None:
    for remark in remarks:
        click.echo(f"linesmith: {remark}", err=True)


class _Progress:
    """One line that shows the share that is done, redrawn once per percent."""

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self.percent = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total if total else 100
        if percent > self.percent:
            self.percent = percent
            click.echo(f"{CLEAR_LINE}{self.doing}: {percent} %", err=True, nl=False)
