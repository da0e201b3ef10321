# SPDX-License-Identifier: GPL-2.0-or-later
"""What would decide where measuring could not: more time, more blocks, or less noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import Comparison, Rules, VerdictKind
from linesmith.tuner.judge.prospect import MOST_FORESEEN, blocks_needed
from linesmith.tuner.judge.ruling import NOISY

_MINUTE = 60.0


def advice(comparisons: Sequence[Comparison], rules: Rules, block: float, spent: float) -> Iterator[str]:
    """Sentences without their full stop, one for each variant about which nothing could be said.

    A block takes ``block`` seconds, and the run has taken ``spent`` seconds so far.
    """
    for variant in dict.fromkeys(one.variant for one in comparisons):
        own = [one for one in comparisons if one.variant == variant and one.decides]
        if any(one.verdict is VerdictKind.UNDECIDED for one in own):
            missing = max(rules.least_blocks - one.blocks for one in own)
            yield f"{variant}: the first verdict takes {_more(missing, block, spent)}"
        elif noisy := [one for one in own if one.verdict is VerdictKind.TOO_NOISY and one.error]:
            yield f"{variant}: {_quieter(noisy, rules, block, spent)}"


def _quieter(noisy: Sequence[Comparison], rules: Rules, block: float, spent: float) -> str:
    """How many blocks would do at this noise, and how they, or less of it, are to be had."""
    bearable = max(_bearable(one, rules) for one in noisy)
    needed = max(blocks_needed(one, rules, _bearable(one, rules)) or MOST_FORESEEN + 1 for one in noisy)
    seen = f"to see changes of {bearable:.0%} at this noise takes"
    if needed <= rules.most_blocks:
        return f"{seen} {_more(needed - min(one.blocks for one in noisy), block, spent)}"
    longer = "let the recorded command do more" if noisy[0].simulated else "let each run of the benchmark take longer"
    if needed > MOST_FORESEEN:
        return f"{seen} more than {MOST_FORESEEN:,} blocks: {longer}, on a quieter machine"
    return (
        f"{seen} about {needed} blocks ({_time(needed * block)}), and `most_blocks` in [judge] is {rules.most_blocks}: "
        f"{longer}, on a quieter machine, or allow more blocks in another run (--machines spreads them over several)"
    )


def _bearable(one: Comparison, rules: Rules) -> float:
    """The reach of an interval that is not too noisy any more."""
    return NOISY * max(rules.smallest, one.floor)


def _more(blocks: int, block: float, spent: float) -> str:
    """So many more blocks, and how to go on for them."""
    minutes = math.ceil((spent + blocks * block) / _MINUTE) + 1
    counted = f"{blocks} more block{'s' * (blocks != 1)}"
    return f"about {counted} ({_time(blocks * block)}): go on with --resume --minutes {minutes}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 2 * _MINUTE else f"{seconds / _MINUTE:,.0f} min"
