# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order the runs of a block are made, so that drift of the machine falls on both sides alike."""

from __future__ import annotations

from random import Random

from linesmith.tuner.judge.seeds import seed_of


def order(baseline: str, variant: str, block: int, seed: int) -> tuple[str, ...]:
    """The four runs of a block, A B B A or B A A B: within it a steady drift cancels.

    Of two blocks in a row each begins with another side, and ``seed`` chooses which, so nothing that changes with every
    second block favours a side.
    """
    first, second = _turned((baseline, variant), block, seed)
    return (first, second, second, first)


def _turned(sides: tuple[str, str], block: int, seed: int) -> tuple[str, str]:
    """The sides in the order in which the block begins with them: one draw for each two blocks."""
    turned = Random(seed_of(seed, block // 2, *sides)).random() < 0.5  # noqa: S311 - a repeatable order, no secret
    return sides if turned == (block % 2 == 0) else (sides[1], sides[0])
