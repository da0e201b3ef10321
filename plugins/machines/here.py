# SPDX-License-Identifier: GPL-2.0-or-later
"""This host, for programs: each step runs under a keeper that ends it with all its children, even if we are killed.

What all machines have in common is here too: what a reviewer wants to know of the computer that measured, read from
/proc and /sys and never guessed, and how the settings of a site that belong to one plugin are read.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from linesmith.analyzer.base.child import run_guarded
from linesmith.analyzer.base.errors import GuestFailed, GuestHung, GuestOutOfMemory, LinesmithError, PlanError
from linesmith.analyzer.base.keeper import KeeperOrder
from linesmith.analyzer.model import Built, Done, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.steps import MOST_BYTES, check_cpus, name_of, read_output, shown, words_of
from linesmith.plugins.settings import read_settings

T = TypeVar("T")

_CPUS = Path("/sys/devices/system/cpu")
# What a shell adds to the number of the signal that ended a command.
_SIGNALLED = 128


def host_facts() -> tuple[tuple[str, str], ...]:
    """CPU model, usable CPUs, SMT, frequency governor, memory and load average; what is not reported is left out."""
    return tuple((name, value) for name, value in _facts() if value)


def _facts() -> Iterator[tuple[str, str]]:
    yield "cpu", _field(Path("/proc/cpuinfo"), "model name")
    yield "cpus", " ".join(map(str, sorted(os.sched_getaffinity(0))))
    yield "smt", {"1": "on", "0": "off"}.get(_text(_CPUS / "smt/active"), "")
    yield "governor", ", ".join(sorted({_text(path) for path in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}))
    yield "memory", _field(Path("/proc/meminfo"), "MemTotal")
    yield "load before", " ".join(_text(Path("/proc/loadavg")).split()[:3])


def _field(path: Path, name: str) -> str:
    """The first value that a file of the form ``name : value`` gives."""
    for line in _text(path).splitlines():
        found, colon, value = line.partition(":")
        if colon and found.strip() == name:
            return value.strip()
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def settings_of(site: Site, kind: type[T]) -> T:
    """What a site says to a machine whose settings are the fields of ``kind``; raises ``PlanError``."""
    return read_settings(dict(site.settings), kind, f"the machine {site.name}", PlanError)


def joined(words: str | tuple[str, ...]) -> str:
    """Words for a kernel's command line, which are given as a text or a list."""
    return words if isinstance(words, str) else " ".join(words)


@dataclass(frozen=True, slots=True)
class NoSettings:
    """A machine that has none."""


class HereMachine:
    """The computer that linesmith runs on; its kernel is what it is, so this is for programs."""

    name = "here"

    def obstacle(self, site: Site) -> str | None:
        """Why steps cannot run here; ``None`` if they can. The number of CPUs is the host's, whatever is asked for."""
        try:
            settings_of(site, NoSettings)
        except LinesmithError as error:
            return str(error)
        if site.overlay:
            return "the machine here has its own files; an overlay is for machines that boot"
        return None

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:  # noqa: ARG002
        """The commands that ``run`` would run."""
        return tuple(shown(step, words_of(step, built)) for step in steps)

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Run the steps in order, in an empty folder of their own; what they print stays in ``scratch``.

        Raises ``GuestHung`` when a step takes longer than it may, ``GuestOutOfMemory`` when the kernel killed it for
        want of memory, and ``GuestFailed`` when it cannot be pinned or prints without end.
        """
        for number, step in enumerate(steps, 1):
            check_cpus(step, number, os.sched_getaffinity(0))
        facts = host_facts()
        end = time.monotonic() + site.seconds
        done = []
        for number, step in enumerate(steps, 1):
            tell(f"running {name_of(step, number)}")
            seconds = min(step.seconds, end - time.monotonic())
            done.append(_done(step, number, built, scratch.absolute(), seconds))
        return Session(tuple(done), os.uname().release, facts)


def _done(step: Step, number: int, built: Built, scratch: Path, seconds: float) -> Done:
    """Run the step, the ``number``-th from 1 on, for at most so many seconds."""
    output, errors, folder = (scratch / f"step-{number}.{kind}" for kind in ("output", "errors", "folder"))
    # One that is there was left by a run that was killed.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with output.open("wb") as to_output, errors.open("wb") as to_errors:
        order = KeeperOrder(
            words_of(step, built),
            str(folder),
            os.environ | dict(step.environment),
            to_output.fileno(),
            to_errors.fileno(),
            seconds,
            MOST_BYTES,
            step.cpus,
        )
        ended = run_guarded(order, str(folder))
    shutil.rmtree(folder, ignore_errors=True)
    if ended is None:
        raise GuestFailed(f"what watched over step {number} was killed; its output is in {output}")
    name, rest = name_of(step, number), f"what it had printed is in {output} and {errors}"
    status = ended.status if ended.status >= 0 else _SIGNALLED - ended.status
    if ended.late:
        raise GuestHung(f"{name} was killed after {seconds:.0f} s; {rest}")
    if ended.too_long:
        raise GuestFailed(f"{name} printed more than {MOST_BYTES >> 20} MiB and was killed; {rest}")
    if ended.starved and status:
        raise GuestOutOfMemory(f"{name} ended with status {status} while the kernel was out of memory; {rest}")
    return Done(step, status, read_output(output), read_output(errors), ended.seconds)
