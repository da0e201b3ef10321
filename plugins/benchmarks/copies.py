# SPDX-License-Identifier: GPL-2.0-or-later
"""Several copies of a command at the same time, in a fresh folder. Source: ``sources/copies.c``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.model import Done
from linesmith.plugins.benchmarks.crew import Tally, tally
from linesmith.plugins.benchmarks.outcome import words_of
from linesmith.plugins.benchmarks.programs import Program, compiled
from linesmith.plugins.benchmarks.settings import Given

PROGRAM = Program("copies", ("copies.c", "crew.c", "crew.h"))


def copies(
    given: Given, count: int, scratch: Path, command: Sequence[str], files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """The words that run ``count`` copies of ``command`` and print their wall time; ``files`` are linked beside them.

    The command's program is named by its path. Raises what compiling raises.
    """
    program = compiled(PROGRAM, given, scratch)
    links = (word for path in files for word in ("--file", str(path)))
    return (str(program), "--workers", str(count), *links, "--", *command)


def without_rights(given: Given, scratch: Path, command: Sequence[str]) -> tuple[str, ...]:
    """The words that run ``command`` as a user without rights, also where root runs them: guests know only root."""
    return (str(compiled(PROGRAM, given, scratch)), "--nobody", "--", *command)


def copies_told(benchmark: str, done: Done) -> Tally:
    """How many copies ended and how long they took; raises ``BenchmarkNonsense``."""
    return tally(benchmark, PROGRAM.name, words_of(done))
