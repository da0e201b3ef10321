# SPDX-License-Identifier: GPL-2.0-or-later
"""Kills a run of ``tune`` with SIGKILL at random moments, goes on with it each time, and says what is wrong at its end.

As a program: ``python tests/tuning/killing.py [KILLS [SEED [MODE]]]`` prints each kill; 20 are the measure. ``MODE`` is
``reread``, where one worker reads what an undisturbed run recorded, or ``simulate``, with two that record each time.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from linesmith.analyzer.model import Fidelity, Result
from linesmith.tuner.run.result import read_result

_DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from functools import partial
from tuning.project import MODES, in_processes, tuned
if __name__ == "__main__":
    text, workers = MODES[sys.argv[4]]
    tuned(Path(sys.argv[1]), Path(sys.argv[2]), text, workers=partial(in_processes, workers=workers))
"""
_TESTS = Path(__file__).resolve().parents[1]
_SECONDS_TO_DIE = 120.0
_LONGEST_RUN = 600.0
_BLOCKS = """
SELECT number, fidelity, purpose, variant, ordinal, json_array_length(block, '$.samples') FROM blocks
"""


@dataclass(slots=True)
class Killing:
    """``wrong`` are sentences on what should not be; processes were killed after so many seconds (``moments``)."""

    mode: str
    moments: list[float] = field(default_factory=list)
    runs: int = 0
    wrong: list[str] = field(default_factory=list)


def started(run: Path, folder: Path, mode: str = "benchmark") -> subprocess.Popen[bytes]:
    """A process that begins the run, or goes on with it."""
    command = (sys.executable, "-c", _DRIVER, str(run), str(folder), str(_TESTS), mode)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill_at_random(folder: Path, kills: int, random: Random, mode: str = "reread") -> Killing:
    """Kill processes until ``kills`` have been hit while they worked; runs that come to their end are looked at."""
    undisturbed, seconds = _undisturbed(folder, mode)
    done = Killing(mode)
    while len(done.moments) < kills:
        done.runs += 1
        run = folder / f"run-{done.runs}"
        while not _ends(run, folder, random.uniform(0.1, seconds), done, kills):
            done.wrong += left_over(run)
        if done.wrong:
            break
        done.wrong += _differences(run, undisturbed)
    return done


def _undisturbed(folder: Path, mode: str) -> tuple[Result, float]:
    begin = time.monotonic()
    process = started(folder / "undisturbed", folder, "benchmark" if mode == "reread" else mode)
    _, errors = process.communicate(timeout=_LONGEST_RUN)
    if process.returncode:
        raise AssertionError(errors.decode())
    return read_result(folder / "undisturbed"), time.monotonic() - begin


def _ends(run: Path, folder: Path, moment: float, done: Killing, kills: int) -> bool:
    """Whether the process came to its end; it is killed before, unless there were kills enough."""
    process = started(run, folder, done.mode)
    enough = len(done.moments) >= kills
    try:
        _, errors = process.communicate(timeout=_LONGEST_RUN if enough else moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done.moments.append(round(moment, 2))
        return False
    if process.returncode:
        done.wrong.append(errors.decode())
    return True


def left_over(run: Path) -> list[str]:
    """Processes that still work for a run whose driver was killed, some time after that."""
    deadline = time.monotonic() + _SECONDS_TO_DIE
    while found := _working_in(run):
        if time.monotonic() > deadline:
            return [f"still running: {found}"]
        time.sleep(0.05)
    return []


def _working_in(run: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if f"{run}/" in words or str(entry.joinpath("cwd").readlink()).startswith(str(run)):
                    found.append(words)
    return found


def _differences(run: Path, undisturbed: Result) -> Iterator[str]:
    """What the end of a run that was killed has other than one that was not.

    With one worker, a run that was killed comes to the very same trials, samples and end. With two, trials end in
    another order and equally good variants may change places; what is estimated and replayed goes out from recordings,
    which differ by some accesses.
    """
    result = read_result(run)
    with sqlite3.connect(run / "journal.sqlite") as database:
        if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            yield "the journal is damaged"
    if not result.finished:
        yield "the run is not finished"
    yield from _gaps(run)
    counts = [sum(one.fidelity is Fidelity.SIMULATION for one in each.trials) for each in (result, undisturbed)]
    found: list[object]
    if any(counts):
        found = [(result.best is None, counts[0]), (undisturbed.best is None, counts[1])]
    else:
        found = [(each.best, trials_of(each), samples_of(each)) for each in (result, undisturbed)]
    if found[0] != found[1]:
        yield f"{found[0]} instead of {found[1]}"


def trials_of(result: Result) -> list[object]:
    """Every trial with what it came to, in order."""
    return [
        (one.number, one.point, one.fidelity, one.variant, one.cost, one.failure and one.failure.kind)
        for one in result.trials
    ]


def samples_of(result: Result) -> Counter[tuple[str, float]]:
    """How often each number was measured of each variant."""
    return Counter((one.variant, one.value) for one in result.samples)


def _gaps(run: Path) -> Iterator[str]:
    """Blocks of one stage and variant are numbered without a gap, and each has as many samples as any."""
    with sqlite3.connect(run / "journal.sqlite") as database:
        kept = database.execute(_BLOCKS).fetchall()
    most = max(samples for *_, samples in kept)
    counts = Counter(tuple(stage) for _, *stage, _, _ in kept)
    for number, *stage, ordinal, samples in kept:
        if samples != most:
            yield f"block {number} has {samples} samples"
        if ordinal >= counts[tuple(stage)]:
            yield f"a block of {stage} before its block {ordinal} is missing"


def main(kills: int, seed: int, mode: str) -> int:
    """Kill in a folder of its own, and print what was done and what is wrong."""
    from tuning.project import project

    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        done = kill_at_random(project(Path(folder) / "project"), kills, Random(seed), mode)  # noqa: S311 - repeatable moments, no secret
    print(f"killed {len(done.moments)} times, after {done.moments} s; {done.runs} runs", end="")
    print(f" came to their end in {time.monotonic() - begin:.0f} s")
    print("\n".join(done.wrong) or "nothing was lost and nothing counted twice")
    return bool(done.wrong)


if __name__ == "__main__":
    sys.path.insert(0, str(_TESTS))
    given = [*sys.argv[1:], *("20", "1", "reread")[len(sys.argv) - 1 :]]
    raise SystemExit(main(int(given[0]), int(given[1]), given[2]))
