# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units a change concerns, in the order in which they tell most about it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from linesmith.patches.matrix.asked import Change
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.includes import Includes
from linesmith.patches.matrix.units import Units

_TAKES_FILE = ("-include", "-imacros")


def concerned(environment: Environment, units: Units, change: Change) -> tuple[str, ...]:
    """The units of the build that see a changed file: those it edits, those asked for, those that name the record."""
    files = frozenset(one.file for one in change.files)
    known = frozenset(units.names)
    seeing = units.including(files) if units.including else _by_text(environment, units, files)
    edited = [file for file in sorted(files) if file in known]
    preferred = [unit for unit in change.prefer if unit in seeing]
    rest = _ranked(environment.build.tree, seeing - {*edited, *preferred}, change)
    return tuple(dict.fromkeys((*edited, *preferred, *rest)))


def _by_text(environment: Environment, units: Units, files: frozenset[str]) -> frozenset[str]:
    flags = environment.build.flags
    forced = [str(flags.directory / path) for option, path in pairwise(flags.options) if option in _TAKES_FILE]
    return Includes(environment.build.tree, flags.include_directories()).including(units.names, files, forced)


def _ranked(tree: Path, units: Iterable[str], change: Change) -> list[str]:
    """Units that name the record and the members that move most often come first."""
    words = {change.record, *(name for pair in change.pairs for name in (pair.first, pair.second))} - {""}
    if not words:
        return sorted(units)
    pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(word.encode()) for word in sorted(words)) + rb")\b")
    counts = {unit: _count(tree / unit, pattern) for unit in units}
    return sorted(counts, key=lambda unit: (-counts[unit], unit))


def _count(path: Path, pattern: re.Pattern[bytes]) -> int:
    try:
        return len(pattern.findall(path.read_bytes()))
    except OSError:
        return 0
