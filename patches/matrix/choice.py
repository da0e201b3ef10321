# SPDX-License-Identifier: GPL-2.0-or-later
"""Which units a change concerns, in the order in which they tell most about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from linesmith.patches.matrix.asked import Change
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.includes import Includes
from linesmith.patches.matrix.units import Including, Units
from linesmith.patches.source_bytes import source_bytes

_TAKES_FILE = ("-include", "-imacros")
# Units whose includes are followed at once while only some are looked for.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Chosen:
    """The units to compile; ``seeing`` is how many see the change in all, ``None`` where not all were looked at."""

    units: tuple[str, ...]
    seeing: int | None


def chosen(environment: Environment, units: Units, change: Change, count: int | None) -> Chosen:
    """The units that the change edits, and ``count`` more that include a changed file: all where it is ``None``.

    Those that the change prefers come first, then those that name the record most often.
    """
    files = frozenset(one.file for one in change.files)
    edited = tuple(unit for unit in sorted(files) if unit in frozenset(units.names))
    if count == 0:
        return Chosen(edited, None)
    including = units.including or _by_text(environment)
    if units.including or count is None:
        seeing = including(files, units.names) - frozenset(edited)
        ordered = _ordered(environment.build.sources, seeing, change)
        return Chosen((*edited, *ordered[:count]), len(edited) + len(seeing))
    others = frozenset(units.names) - frozenset(edited)
    found = _first(including, files, _ordered(environment.build.sources, others, change), count)
    return Chosen((*edited, *found), None)


def _first(including: Including, files: frozenset[str], ordered: Sequence[str], count: int) -> tuple[str, ...]:
    """The first ``count`` of ``ordered`` that include one of the files."""
    found: list[str] = []
    step = max(_AT_ONCE, count)
    for start in range(0, len(ordered), step):
        some = ordered[start : start + step]
        seeing = including(files, some)
        found += [unit for unit in some if unit in seeing]
        if len(found) >= count:
            break
    return tuple(found[:count])


def _by_text(environment: Environment) -> Including:
    flags = environment.build.flags
    forced = [str(flags.directory / path) for option, path in pairwise(flags.options) if option in _TAKES_FILE]
    includes = Includes(environment.build.tree, flags.include_directories())
    return lambda files, units: includes.including(units, files, forced)


def _ordered(tree: Path, units: frozenset[str], change: Change) -> tuple[str, ...]:
    preferred = [unit for unit in change.prefer if unit in units]
    return (*preferred, *_ranked(tree, units - frozenset(preferred), change))


def _ranked(tree: Path, units: Iterable[str], change: Change) -> list[str]:
    """Units that name the record most often come first, among equals those that name its members."""
    names = [name for pair in change.pairs for name in (pair.first, pair.second)]
    patterns = [_pattern(words) for words in ([change.record], names) if any(words)]
    if not patterns:
        return sorted(units)
    counts = {unit: tuple(_counts(tree, unit, patterns)) for unit in units}
    return sorted(counts, key=lambda unit: (*(-count for count in counts[unit]), unit))


def _pattern(words: Iterable[str]) -> re.Pattern[bytes]:
    return re.compile(rb"\b(?:" + b"|".join(re.escape(word.encode()) for word in sorted(set(words))) + rb")\b")


def _counts(tree: Path, unit: str, patterns: Sequence[re.Pattern[bytes]]) -> Iterator[int]:
    text = source_bytes(tree, unit) or b""
    return (len(pattern.findall(text)) for pattern in patterns)
