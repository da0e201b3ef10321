# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles on all CPUs that are ours; each call waits for a child, so threads do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def each(function: Callable[[_Item], _Result], items: Iterable[_Item], done: Callable[[int], None]) -> list[_Result]:
    """``function`` of each item, in their order; what one raises ends all that have not begun.

    ``done`` is told how many are through.
    """
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    results: list[_Result] = []
    try:
        for result in pool.map(function, items):
            results.append(result)
            done(len(results))
        return results
    finally:
        pool.shutdown(cancel_futures=True)
