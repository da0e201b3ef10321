# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast this host's time stamp counter runs, which an emulated x86 guest sees as its own.

A guest that measures that itself while the host is busy may be wrong by a factor, and all its times with it.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import time
from collections.abc import Callable
from functools import cache

# rdtsc; shl $32,%rdx; or %rdx,%rax; ret
_READ = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
_SPAN_SECONDS = 0.1
_TRIES = 20


@cache
def counter_khz() -> int | None:
    """Its frequency in kHz, good to some parts of a million; ``None`` where it cannot be read."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(_READ)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    ticks, nanoseconds = _together(read)
    time.sleep(_SPAN_SECONDS)
    later_ticks, later_nanoseconds = _together(read)
    return round((later_ticks - ticks) * 1_000_000 / (later_nanoseconds - nanoseconds))


def _together(read: Callable[[], int]) -> tuple[int, int]:
    """Both clocks at one moment: of several tries the one that took the shortest time."""
    tries = []
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        ticks = read()
        after = time.monotonic_ns()
        tries.append((after - before, ticks, (before + after) // 2))
    _, ticks, nanoseconds = min(tries)
    return ticks, nanoseconds
