# SPDX-License-Identifier: GPL-2.0-or-later
"""The options that no other one beats: in what they leave and risk, in size and in churn."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.tuner.merit import Merit

# What two options may leave more or less, as a share of what can be saved, without being better or worse: on
# one line, and on a pair of lines, which matters where a prefetcher brings pairs only.
EQUAL = 0.02
PAIRED_EQUAL = 0.2


def undominated(found: Sequence[Merit]) -> list[Merit]:
    """Those of ``found`` that none beats in one thing without being beaten in another; equals stay."""
    return [one for one in found if not any(_beats(other, one) for other in found)]


def _beats(one: Merit, other: Merit) -> bool:
    """Whether ``one`` is better in something, and worse in nothing; moving the victim never beats moving the writer."""
    if one.victim and not other.victim:
        return False
    now = other.now - other.best
    leads = (
        (other.left - one.left) / (EQUAL * now),
        (other.paired - one.paired) / (PAIRED_EQUAL * now),
        2.0 * (other.exposed - one.exposed),
        2.0 * (other.grown - one.grown),
        2.0 * (other.members - one.members),
    )
    return max(leads) > 1 and min(leads) >= -1
