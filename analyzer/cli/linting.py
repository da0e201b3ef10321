# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line gives to the lint: builds, the records of interest, the rules that are on."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli.kernels import Running, kernel_of
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint import Linted, Policy, of_one, of_two, tuned
from linesmith.analyzer.model import Layout
from linesmith.analyzer.rules import RULES, Side


def builds(elf: Path | None, base: Path | None, head: Path | None) -> tuple[Path | None, Path]:
    """The build before (``None``: there is none) and the one that is looked at."""
    if elf is not None and base is None and head is None:
        return None, elf
    if elf is None and base is not None and head is not None:
        return base, head
    raise click.UsageError("give one build, ELF, or two of them as --base OLD and --head NEW")


def linted(files: tuple[Path | None, Path], types: tuple[str, ...], running: Running) -> Linted:
    """The records of the builds, side by side; raises ``TypeNotFound`` for what neither of them has."""
    base, head = files
    after = load(head)
    if base is None:
        found = of_one(after.layouts, types)
        return Linted(str(head), _side(after, running), found.pairs, compared=found.compared)
    before = load(base)
    found = of_two(before.layouts, after.layouts, types)
    sides = _side(before, running), _side(after, running)
    return Linted(str(head), sides[1], found.pairs, str(base), sides[0], found.compared, found.changed)


def policy(types: tuple[str, ...]) -> Policy:
    """All rules that are on unless ignored; records that are asked for by name count as tuned."""

    def asked_for(layout: Layout, layouts: Layouts) -> str:
        return tuned(layout, layouts) or "named by --type"

    return Policy(tuple(one for one in RULES if one.default), asked_for if types else tuned)


def _side(reading: Reading, running: Running) -> Side:
    return Side(reading.layouts, kernel_of(Path(reading.identity.path), reading.identity, running).kernel)
