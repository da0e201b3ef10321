# SPDX-License-Identifier: GPL-2.0-or-later
"""The stage: some dozens of runs of which the profile may be a report, each ready to be replayed."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Finding, Profile
from linesmith.tuner.reconstruction.draw import drawn
from linesmith.tuner.reconstruction.fitted import fitted
from linesmith.tuner.reconstruction.sampled import evidence
from linesmith.tuner.replay.replayer import Replay
from linesmith.tuner.replay.scene import TraceScene

DRAWS = 30


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
    known = evidence(findings, profile, layouts, code, here)
    if not any(one.sampled for one in known.touches):
        return ()
    instructions = [one.code for one in known.touches]
    runs = [fitted(drawn(known, seed * draws + number), known) for number in range(draws)]
    return tuple(one.run.open(instructions, (here,)) for one in runs)
