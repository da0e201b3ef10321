# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the accesses of a profile waited for a line that another CPU had written.

Latencies are the profile's own where it has them, else the defaults of ``model.Latencies``; docs/conflict-cost.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linesmith.analyzer.model import Access, Conflict, Latencies, Profile, SharedLine

# Cycles of a load that finds its line in the first-level cache, on current x86 and Arm cores (4 or 5).
HIT = 5
DEFAULTS = Latencies()
# perf prints shares with two decimals: a count made of one may be off by this part of its column's total, and by one.
_ROUNDING = 0.00005


@dataclass(frozen=True, slots=True)
class Waiting:
    """``contended`` accesses took ``cycles``; other loads of the line took ``slow_cycles`` more than hits do.

    ``timed`` contended accesses have latencies of their own.
    """

    contended: int = 0
    cycles: float = 0.0
    slow_cycles: float = 0.0
    timed: int = 0

    def __add__(self, other: Waiting) -> Waiting:
        return Waiting(
            self.contended + other.contended,
            self.cycles + other.cycles,
            self.slow_cycles + other.slow_cycles,
            self.timed + other.timed,
        )


def waiting(access: Access) -> Waiting:
    """What one row of a profile waited."""
    hitm = bool(access.hitm_remote or access.hitm_local)
    remote = (access.hitm_remote if hitm else access.peer_remote) or 0
    local = (access.hitm_local if hitm else access.peer_local) or 0
    taken = access.taken or 0
    cycles = remote * (access.cycles_remote or DEFAULTS.hitm_remote) + local * (
        access.cycles_local or DEFAULTS.hitm_local
    )
    timed = (remote if access.cycles_remote else 0) + (local if access.cycles_local else 0)
    return Waiting(remote + local + taken, cycles + taken * DEFAULTS.taken_local, _slow(access), timed)


def _slow(access: Access) -> float:
    """Cycles above a hit of loads that were not contended: most wait for a line that is on its way already."""
    others = (access.records or 0) - access.stores - access.contended
    return max(others, 0) * max((access.cycles_load or 0) - HIT, 0)


def total(accesses: Iterable[Access]) -> Waiting:
    """What all of them waited."""
    return sum(map(waiting, accesses), Waiting())


def unlisted(line: SharedLine) -> int:
    """Contended accesses of the line that stand in no row: people leave rows out when they paste."""
    missing = line.contended - sum(access.contended for access in line.accesses)
    noise = len(line.accesses) * (1 + _ROUNDING * line.contended)
    return missing if missing > noise else 0


def conflict_cycles(one: Conflict) -> float:
    """What the misses of one conflict of a recording take."""
    local, remote = (
        (DEFAULTS.taken_local, DEFAULTS.taken_remote) if one.stores else (DEFAULTS.hitm_local, DEFAULTS.hitm_remote)
    )
    return one.local * local + one.remote * remote


def line_waited(line: SharedLine) -> float:
    """All cycles that accesses of the line waited; those in no row as long as the others on average."""
    if line.conflicts:
        return sum(map(conflict_cycles, line.conflicts))
    listed = total(line.accesses)
    mean = listed.cycles / listed.contended if listed.contended else DEFAULTS.hitm_local
    return listed.cycles + listed.slow_cycles + unlisted(line) * mean


def profile_waited(profile: Profile) -> float:
    """The cycles of the whole profile; lines that a paste left out are taken to wait as those it has, by share."""
    shares = [line.share for line in profile.lines]
    known = sum(share for share in shares if share is not None)
    covered = known if None not in shares and 0 < known < 1 else 1.0
    return sum(map(line_waited, profile.lines)) / covered
