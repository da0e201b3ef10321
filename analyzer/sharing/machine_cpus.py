# SPDX-License-Identifier: GPL-2.0-or-later
"""For how many CPUs the slabs of the profiled machine are made."""

from __future__ import annotations

from linesmith.analyzer.attribution.joint_objects import cpus_of
from linesmith.analyzer.model import Profile
from linesmith.analyzer.sharing.origin import Origin, origin

# As many as `--cpus` takes.
MOST_CPUS = 1 << 16


def machine_cpus(profile: Profile, usual: int) -> int:
    """As many as the profile says there are; where it only names those sampled, ``usual`` or as many as these need."""
    said = cpus_of(profile)
    if said is not None:
        return min(max(said, 1), MOST_CPUS)
    found = (origin((access,)) for line in profile.lines for access in line.accesses)
    return min(max((usual, *(_least(one) for one in found))), MOST_CPUS)


def _least(one: Origin) -> int:
    """How many CPUs there are at least: one more than the highest number, where the profile has more than a count."""
    return max((one.count or 0, *(cpu + 1 for cpu in one.cpus or ())))
