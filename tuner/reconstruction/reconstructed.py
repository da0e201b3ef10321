# SPDX-License-Identifier: GPL-2.0-or-later
"""The stage: some dozens of runs of which the profile may be a report, each ready to be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Finding, Interval, Profile
from linesmith.tuner.reconstruction.draw import drawn
from linesmith.tuner.reconstruction.fitted import Fitting
from linesmith.tuner.reconstruction.sampled import evidence
from linesmith.tuner.reconstruction.sections import with_locks
from linesmith.tuner.replay.replayer import Replay
from linesmith.tuner.replay.scene import TraceScene

DRAWS = 30
# For each draw that is used so many are tried, those are left whose reports are nearest to the profile.
TRIED = 3
ROUNDS = 5
PROPOSALS = 6
# By how much a predicted change is off beyond what the draws show, as standard deviations: a part, and a part of the
# change (docs/replay.md).
MODEL_ERROR, MODEL_ERROR_SHARE = 0.06, 0.2
# From the middle to an end of 80 % of a normal distribution, in standard deviations.
EIGHTY = 1.2816


def reconstructed(
    findings: Sequence[Finding],
    profile: Profile,
    layouts: Layouts,
    code: AccessMap | None,
    here: TraceScene,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[Replay, ...]:
    """Runs of the objects in ``here``, the scene that ``sampled_scene`` makes of the same ``findings``.

    The first objects of ``findings`` are known and of one layout; ``code`` is the access map of the ELF file. Each
    replay has that one scene, and as much weight as any other. None where the profile does not say which bytes were
    accessed. The same arguments give the same runs.
    """
    if not here.kinds:
        return ()
    known = with_locks(evidence(findings, profile, layouts, code, here), findings, layouts, code)
    if not any(one.sampled for one in known.touches):
        return ()
    instructions = [one.code % (1 << 64) for one in known.touches]
    fits = [Fitting(drawn(known, TRIED * draws * seed + number), known) for number in range(TRIED * draws)]
    for one in fits:
        one.advance(ROUNDS)
    fits = sorted(fits, key=lambda one: one.misfit)[:draws]
    for one in fits:
        one.search(PROPOSALS)
        one.advance(1)
    return tuple(one.run().open(instructions, (here,)) for one in fits)


def widened(of_draws: Interval, change: float) -> Interval:
    """The 80 % interval of a predicted ``change`` of a record's misses, ``of_draws`` being that of the draws.

    All draws come of one model of how functions work together, which is not quite right either. Where no draw changes
    at all, no byte that matters moves.
    """
    if of_draws.low == of_draws.high == 0:
        return of_draws
    middle, half = (of_draws.low + of_draws.high) / 2, (of_draws.high - of_draws.low) / 2
    half = hypot(half, EIGHTY * (MODEL_ERROR + MODEL_ERROR_SHARE * abs(change)))
    return Interval(max(middle - half, -1.0), middle + half)
