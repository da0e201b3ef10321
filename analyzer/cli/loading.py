# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads an ELF file for a command, with progress and remarks on standard error."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from linesmith.analyzer.dwarf import Reading, read_layouts

CLEAR_LINE = "\r\x1b[K"


def load(elf: Path) -> Reading:
    """The layouts of ``elf``; says how far it is when standard error is a terminal, and what went less than well."""
    shown = sys.stderr.isatty()
    try:
        reading = read_layouts(elf, _Progress(elf)) if shown else read_layouts(elf)
    finally:
        if shown:
            click.echo(CLEAR_LINE, err=True, nl=False)
    for remark in reading.remarks:
        click.echo(f"linesmith: {remark}", err=True)
    return reading


class _Progress:
    """One line that shows the share of the debug information read, redrawn once per percent."""

    def __init__(self, elf: Path) -> None:
        self.elf = elf
        self.percent = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total if total else 100
        if percent > self.percent:
            self.percent = percent
            click.echo(f"{CLEAR_LINE}reading {self.elf.name}: {percent} %", err=True, nl=False)
