# SPDX-License-Identifier: GPL-2.0-or-later
"""What is common to guests: before they are ready nothing but booting fails, and want of memory explains all else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed, GuestNotBooted, GuestOutOfMemory
from linesmith.analyzer.model import Done, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.console import Console
from linesmith.plugins.machines.transcript import Introduction, Transcript


def booted(transcript: Transcript, seconds: float, advice: str) -> Introduction:
    """What the guest says of itself; whatever goes wrong before raises ``GuestNotBooted``, with the advice."""
    try:
        return transcript.introduction(seconds)
    except GuestFailed as error:
        raise GuestNotBooted(f"{error}{advice}") from error


def steps_done(
    transcript: Transcript, steps: Sequence[Step], console: Console, scratch: Path, tell: Tell
) -> tuple[Done, ...]:
    """How the steps ended; raises ``GuestOutOfMemory`` when the kernel killed for want of memory meanwhile."""
    try:
        done = tuple(transcript.done(step, number, scratch, tell) for number, step in enumerate(steps, 1))
    except GuestFailed as error:
        if starved := console.starved():
            raise GuestOutOfMemory(f"{starved}; give the machine more memory; then {error}") from error
        raise
    if starved := console.starved():
        raise GuestOutOfMemory(f"{starved}; give the machine more memory; all it said is in {console.log}")
    return done
