# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles on all CPUs that are ours; each call waits for a child, so threads do."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from linesmith.plugins.machines.child import ChildrenOfThreads, undisturbed

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def each(function: Callable[[_Item], _Result], items: Iterable[_Item], done: Callable[[int], None]) -> list[_Result]:
    """``function`` of each item, in their order; what one raises ends all others, with their children.

    ``done`` is told how many are through. A signal that ends us, or a deadline, is heard while we wait, and no thread
    and no child is left then.
    """
    asked = list(items)
    children = ChildrenOfThreads()
    with undisturbed() as mask:  # a thread that a signal parted from us would go on alone
        pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)), initializer=children.join)
        results: list[_Result] = []
        try:
            running = pool.map(function, asked)
            for number in range(1, len(asked) + 1):
                results.append(_disturbed(mask, partial(next, running)))
                done(number)
            return results
        except BaseException:
            children.end()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _disturbed(mask: set[signal.Signals], waiting: Callable[[], _Result]) -> _Result:
    """What ``waiting`` gives; a signal may end it."""
    # No generator does this: the rest of one that a signal left would run when it is collected.
    held = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    try:
        return waiting()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
