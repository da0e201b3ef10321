# SPDX-License-Identifier: GPL-2.0-or-later
"""The profile of the example: recorded here where something can record, else the one that was written for it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.demo import program
from linesmith.analyzer.demo.cpus import CpuChoice
from linesmith.analyzer.errors import LinesmithError
from linesmith.analyzer.model import Emulation, Order, Recorded
from linesmith.plugins.api import Recorder
from linesmith.plugins.profiles.recorded import encode

MILLISECONDS = 400
RECORD_SECONDS = 60
_RECORDED = "recorded.profile"

_WRITTEN = """\
{profile} has the form of a perf c2c report. Its figures were written for this example; they were not recorded: {why}.

"""
_RECORDED_HERE = """\
$ linesmith record --on {on} --ring user --interleave turns -o {profile} -- {command}

"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A profile of the example in a file, and the words that say where it comes from."""

    path: Path
    about: str


def gather(directory: Path, scratch: Path, recorders: Sequence[Recorder], choice: CpuChoice) -> Evidence:
    """The profile of the first recorder that works on the program in ``directory``, or the written one."""
    command = (str(directory / "bench"), str(MILLISECONDS), *map(str, choice.cpus))
    order = Order(
        command,
        Emulation(ring="user", interleave="turns"),
        output=scratch / "printed",
        seconds=RECORD_SECONDS,
    )
    obstacles = []
    for recorder in recorders:
        try:
            if obstacle := recorder.obstacle(order):
                obstacles.append(f"not on {recorder.name}, for {obstacle}")
                continue
            recorded = recorder.record(order, scratch, _unheard)
            return _kept(recorded, directory, recorder.name, command)
        except LinesmithError as error:
            obstacles.append(f"not on {recorder.name}, for {error}")
    about = _WRITTEN.format(profile=program.PROFILE, why="; ".join(obstacles) or "no recorder is installed")
    return Evidence(directory / program.PROFILE, about)


def _kept(recorded: Recorded, directory: Path, on: str, command: tuple[str, ...]) -> Evidence:
    path = directory / _RECORDED
    shown = ("./bench", *command[1:])
    profile = recorded.profile
    if profile and profile.recording:
        profile = replace(profile, recording=replace(profile.recording, command=shown))
    path.write_bytes(encode(profile) if profile else recorded.report.encode("utf-8", "surrogateescape"))
    return Evidence(path, _RECORDED_HERE.format(on=on, profile=_RECORDED, command=shlex.join(shown)))


def _unheard(_progress: str) -> None:
    """The example runs for too short a time for news of it."""
