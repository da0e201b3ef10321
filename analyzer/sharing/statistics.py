# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals of shares and ratios of sampled counts, and how long the accesses of a profile waited.

They waited for a line that another CPU had written. Latencies are the profile's own where it has them, else the
defaults of ``model.Latencies``; docs/conflict-cost.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import copysign, exp, hypot, inf, log, sqrt
from statistics import median

from linesmith.analyzer.model import Access, Bounds, CacheLine, Conflict, Latencies, Profile

# Four fifths of the squares of a standard normal variable are below this.
QUANTILE, QUANTILE_SQUARE = 0.8, 1.642374
LEAST_PAIRS, LEAST_COUNT = 12, 20
SMALLEST_SCATTER, MOST_SCATTER = 1e-6, 2.0

# Two-sided 95 % of the normal distribution.
Z = 1.959964
# Cycles of a load that finds its line in the first-level cache, on current x86 and Arm cores (4 or 5).
HIT = 5
DEFAULTS = Latencies()
# perf prints shares with two decimals: a count made of one may be off by this part of its column's total, and by one.
_ROUNDING = 0.00005


def share_of(count: float, total: float, z: float = Z) -> Bounds:
    """Where the share ``count / total`` lies: the score interval of Wilson (JASA 22, 1927); 0 to 1 without samples."""
    if total <= 0:
        return Bounds(0.0, 1.0)
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    least = 0.0 if count <= 0 else max(0.0, middle - half)
    return Bounds(least, 1.0 if count >= total else min(1.0, middle + half))


def ratio_of(before: float, after: float, before_total: float, after_total: float, z: float = Z) -> Bounds:
    """Where the ratio of two Poisson rates, after to before, lies; ``inf`` is its upper limit where before is 0.

    Given their sum, one of two Poisson counts is binomial (Przyborowski and Wilenski, Biometrika 31, 1940).
    """
    if before + after <= 0 or before_total <= 0 or after_total <= 0:
        return Bounds(0.0, inf)
    share = share_of(after, before + after, z)
    scale = before_total / after_total
    return Bounds(_odds(share.least) * scale, _odds(share.most) * scale)


def widened(ratio: Bounds, middle: float, scatter: float, z: float = Z) -> Bounds:
    """Limits of a ratio about ``middle`` when both rates scatter besides, with the relative deviation ``scatter``."""
    extra = z * sqrt(2) * scatter
    if not extra:
        return ratio
    return Bounds(_away(middle, ratio.least, -extra), _away(middle, ratio.most, extra))


def _away(middle: float, limit: float, extra: float) -> float:
    """The limit moved so that its distance from the middle (as logarithms) and ``extra`` add up as squares do."""
    if limit in (0.0, inf):
        return limit
    if not 0 < middle < inf:
        return limit * exp(extra)
    return middle * exp(copysign(hypot(log(limit / middle), extra), extra))


def scatter_of(pairs: Sequence[tuple[int, int]]) -> float:
    """The relative deviation of rates between two profiles that explains how far most pairs of counts are apart.

    It is beyond what counting leaves to chance, and about the change that all have in common. It is fitted to four
    fifths of the pairs, so that up to a fifth of them may really change. 0 with fewer than ``LEAST_PAIRS`` pairs of
    ``LEAST_COUNT`` or more.
    """
    counted = [pair for pair in pairs if min(pair) >= LEAST_COUNT]
    if len(counted) < LEAST_PAIRS:
        return 0.0
    logs = [log(after / before) for before, after in counted]
    common = median(logs)
    low, high = 0.0, MOST_SCATTER
    for _ in range(40):
        tried = (low + high) / 2
        squares = sorted(
            (one - common) ** 2 / (1 / before + 1 / after + 2 * tried**2)
            for one, (before, after) in zip(logs, counted, strict=True)
        )
        wider = squares[int(QUANTILE * (len(squares) - 1))] > QUANTILE_SQUARE
        low, high = (tried, high) if wider else (low, tried)
    return high if high > SMALLEST_SCATTER else 0.0


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf


@dataclass(frozen=True, slots=True)
class WaitedCycles:
    """``contended`` accesses took ``cycles``; other loads of the line took ``slow_cycles`` more than hits do.

    ``timed`` contended accesses have latencies of their own.
    """

    contended: int = 0
    cycles: float = 0.0
    slow_cycles: float = 0.0
    timed: int = 0

    @property
    def mean(self) -> float:
        """Cycles of one contended access; what is usual where there are none."""
        return self.cycles / self.contended if self.contended else DEFAULTS.hitm_local

    def __add__(self, other: WaitedCycles) -> WaitedCycles:
        return WaitedCycles(
            self.contended + other.contended,
            self.cycles + other.cycles,
            self.slow_cycles + other.slow_cycles,
            self.timed + other.timed,
        )


def waiting(access: Access) -> WaitedCycles:
    """What one row of a profile waited."""
    hitm = bool(access.hitm_remote or access.hitm_local)
    remote = (access.hitm_remote if hitm else access.peer_remote) or 0
    local = (access.hitm_local if hitm else access.peer_local) or 0
    taken = access.taken or 0
    cycles = remote * (access.cycles_remote or DEFAULTS.hitm_remote)
    cycles += local * (access.cycles_local or DEFAULTS.hitm_local)
    cycles += taken * DEFAULTS.taken_local
    timed = (remote if access.cycles_remote else 0) + (local if access.cycles_local else 0)
    # Most loads that were not contended and took longer than a hit wait for a line that is on its way already.
    others = (access.records or 0) - access.stores - access.contended
    slow = max(others, 0) * max((access.cycles_load or 0) - HIT, 0)
    return WaitedCycles(remote + local + taken, cycles, slow, timed)


def total(accesses: Iterable[Access]) -> WaitedCycles:
    """What all of them waited."""
    return sum(map(waiting, accesses), WaitedCycles())


def unlisted(line: CacheLine) -> int:
    """Contended accesses of the line that stand in no row: people leave rows out when they paste."""
    missing = line.contended - sum(access.contended for access in line.accesses)
    noise = len(line.accesses) * (1 + _ROUNDING * line.contended)
    return missing if missing > noise else 0


def conflict_cycles(one: Conflict) -> float:
    """What the misses of one conflict of a recording take."""
    if one.stores:
        return one.local * DEFAULTS.taken_local + one.remote * DEFAULTS.taken_remote
    return one.local * DEFAULTS.hitm_local + one.remote * DEFAULTS.hitm_remote


def profile_waited(profile: Profile) -> float:
    """The cycles that all accesses of a profile waited; those in no row as long as the others of their line on average.

    Lines that a paste left out are taken to wait as those it has, by share.
    """
    shares = [line.share for line in profile.lines]
    known = sum(share for share in shares if share is not None)
    covered = known if None not in shares and 0 < known < 1 else 1.0
    waited = 0.0
    for line in profile.lines:
        if line.conflicts:
            waited += sum(map(conflict_cycles, line.conflicts))
        else:
            listed = total(line.accesses)
            waited += listed.cycles + listed.slow_cycles + unlisted(line) * listed.mean
    return waited / covered
