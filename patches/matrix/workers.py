# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles on all CPUs that are ours; each call waits for a child, so threads do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def each(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """``function`` of each item, in their order; what one raises ends all that have not begun."""
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        return list(pool.map(function, items))
    finally:
        pool.shutdown(cancel_futures=True)
