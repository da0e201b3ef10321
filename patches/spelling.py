# SPDX-License-Identifier: GPL-2.0-or-later
"""How alignments of members are written in a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linesmith.analyzer.model import CACHE_LINE_BYTES, Move

Spelling = Mapping[int, str]


def spellings(moves: Sequence[Move], *, kernel: bool) -> tuple[Spelling, ...]:
    """Ways to write the alignments among ``moves``, to try in order: the attribute for each number of bytes.

    A header can use ``____cacheline_aligned_in_smp`` only where it sees linux/cache.h; compiling tells.
    """
    wanted = sorted({move.align for move in moves if move.align})
    if not kernel:
        return ({align: f"__attribute__((aligned({align})))" for align in wanted},)
    plain = {align: f"__aligned({align})" for align in wanted}
    if CACHE_LINE_BYTES not in plain:
        return (plain,)
    return {**plain, CACHE_LINE_BYTES: "____cacheline_aligned_in_smp"}, plain
