# SPDX-License-Identifier: GPL-2.0-or-later
"""From samples to a profile: the lines that ``perf c2c report`` would show, counted by its rules."""

from __future__ import annotations

from linesmith.analyzer.model import Profile, Sampling
from linesmith.plugins.profiles.samples import Samples


def profile_of_samples(samples: Samples, source: str, sampling: Sampling, events: tuple[str, ...] = ()) -> Profile:
    """The profile of all ``samples``, lines by cost; ``sampling`` is completed with the outcomes.

    Raises ``ProfileError`` when there is no sample of memory among them.
    """
    raise NotImplementedError
