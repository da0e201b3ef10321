# SPDX-License-Identifier: GPL-2.0-or-later
"""How the alignment of a member is written in a tree."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import CACHE_LINE_BYTES, Move


def spellings(moves: Sequence[Move], *, kernel: bool) -> tuple[str | None, ...]:
    """Attributes to try in order for the alignment among ``moves``; ``(None,)`` when there is none.

    A header can use ``____cacheline_aligned_in_smp`` only where it sees linux/cache.h; compiling tells.
    """
    wanted = next((move.align for move in moves if move.align), None)
    if wanted is None:
        return (None,)
    if not kernel:
        return (f"__attribute__((aligned({wanted})))",)
    line = ("____cacheline_aligned_in_smp",) if wanted == CACHE_LINE_BYTES else ()
    return (*line, f"__aligned({wanted})")
