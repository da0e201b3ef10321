# SPDX-License-Identifier: GPL-2.0-or-later
"""How far KASLR moved a kernel, solved from sampled code addresses alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linesmith.analyzer.access import NO_ROW, AccessMap, resolve
from linesmith.analyzer.model import Profile

# x86 moves its kernel by multiples of 2 MiB within 1 GiB (arch/x86/boot/compressed/kaslr.c).
STEP, ROOM = 2 << 20, 1 << 30
# Instructions of other code that happen to touch memory: well below one half (docs/profiles.md).
PLAUSIBLE = 0.8


def code_samples(profile: Profile, kernel: bool) -> dict[int, int]:
    """Samples by code address, of the kernel or of programs."""
    found: dict[int, int] = {}
    for line in profile.lines:
        for access in line.accesses:
            if access.code_address is not None and access.kernel in (kernel, None):
                found[access.code_address] = found.get(access.code_address, 0) + (access.records or 1)
    return found


def solved_slide(codes: Mapping[int, int], accesses: AccessMap) -> int | None:
    """The multiple of 2 MiB by which moved most instructions are ones that touch memory; bytes.

    ``codes`` are samples by code address. ``None`` where no distance makes four fifths of them such instructions.
    """
    if not codes:
        return None
    address = np.array(sorted(codes), np.uint64)
    times = np.array([codes[int(one)] for one in address])
    hits = {
        step: int(times[resolve(address - np.uint64(step), accesses) != NO_ROW].sum()) for step in range(0, ROOM, STEP)
    }
    best = max(hits, key=lambda step: hits[step])
    return best if hits[best] >= PLAUSIBLE * times.sum() else None
