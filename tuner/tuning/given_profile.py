# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile that a plan names, read before anything is built."""

from __future__ import annotations

from linesmith.analyzer.errors import ProfileError, ProfileWithoutOffsets
from linesmith.analyzer.model import Evidence, Profile, Searching
from linesmith.plugins.registry import read_profiles


def given_profile(evidence: Evidence, search: Searching) -> Profile | None:
    """The profile in the plan's file, ``None`` where it is to be recorded.

    Raises ``ProfileError``, and ``ProfileWithoutOffsets`` where no member can be named by it.
    """
    if evidence.profile is None:
        return None
    reports = read_profiles(evidence.profile)
    if not 1 <= search.section <= len(reports):
        raise ProfileError(
            f"{evidence.profile} holds {len(reports)} report(s), so there is no [search] section {search.section}"
        )
    profile = reports[search.section - 1]
    if not profile.has_offsets:
        raise ProfileWithoutOffsets(
            f"{profile.source} lists shared lines but no offsets, so members cannot be named; give the whole report"
        )
    return profile
