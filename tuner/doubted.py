# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates that rest on a member of which it is in doubt that it is what was sampled.

In the build of the report another member may lie there. To move the other end of the pair, which is sure, is right
whatever that is; to move the doubted one is right only if it is there.
"""

from __future__ import annotations

from linesmith.tuner.arrangement import lightest
from linesmith.tuner.cost.conflict import residual_share
from linesmith.tuner.cost.heat import Contact
from linesmith.tuner.search import Option, hot_atoms
from linesmith.tuner.subject import Subject


def rests_on_doubt(target: Subject, option: Option, names: frozenset[str]) -> bool:
    """Whether the option parts a sampled pair with a member in ``names`` without moving the end that is sure."""
    parted = [one for one in target.heat.sampled if one.names & names and _parts(target, option, one)]
    if not parted:
        return False
    shown = lightest(target, option.arrangement, hot_atoms(target))
    moved = {*shown.moved, *shown.aligned}
    return any(not moved & _sure_atoms(target, contact, names) for contact in parted)


def _sure_atoms(target: Subject, contact: Contact, names: frozenset[str]) -> set[int]:
    return {target.owners[spot.member] for spot in (contact.first, contact.second) if spot.name not in names}


def _parts(target: Subject, option: Option, contact: Contact) -> bool:
    size, starts = target.heat.line_bytes, target.heat.mixes.starts
    before = residual_share(contact, target.starts, size, starts(target.heat.granule))
    return residual_share(contact, option.starts, size, starts(option.granule)) < before


def nothing_sure(names: frozenset[str]) -> str:
    """Why nothing is recommended where all that would pay rests on such members: a sentence."""
    listed = ", ".join(sorted(names))
    verb = "were" if len(names) > 1 else "was"
    return (
        f"Nothing is recommended: the candidates rest on {listed}, and it is in doubt that {listed} {verb} sampled;"
        " give the vmlinux of the kernel that was profiled."
    )
