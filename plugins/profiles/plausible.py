# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the numbers of a profile can be what they say: none is negative, none has more than 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from typing import Any

from linesmith.analyzer.model import Access, Conflict, CpuCounts, Profile, SharedLine

_LIMIT = 1 << 64


def is_plausible(profile: Profile) -> bool:
    """Whether every offset, count and address of the lines lies between 0 and 2^64 - 1."""
    accesses = [access for line in profile.lines for access in line.accesses]
    return (
        _are_numbers(SharedLine, profile.lines)
        and _are_numbers(Access, accesses)
        and _are_numbers(CpuCounts, chain.from_iterable(access.by_cpu for access in accesses))
        and _are_numbers(Conflict, chain.from_iterable(line.conflicts for line in profile.lines))
    )


def _are_numbers(kind: type[Any], records: Iterable[object]) -> bool:
    numbers: Callable[[object], tuple[int | None, ...]] = attrgetter(*_names(kind))
    return all(0 <= (number or 0) < _LIMIT for one in records for number in numbers(one))


def _names(kind: type[Any]) -> list[str]:
    return [one.name for one in fields(kind) if one.type in ("int", "int | None")]
