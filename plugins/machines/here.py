# SPDX-License-Identifier: GPL-2.0-or-later
"""This host, for programs: each step runs under a keeper that ends it with all its children, even if we are killed."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path

from linesmith.analyzer.base.child import run_guarded
from linesmith.analyzer.base.errors import GuestFailed, GuestHung, GuestOutOfMemory, LinesmithError, PlanError
from linesmith.analyzer.base.keeper import KeeperOrder
from linesmith.analyzer.model import Built, Done, Session, Setting, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.steps import MOST_BYTES, check_cpus, name_of, read_output, shown, words_of

# What a reviewer wants to know of the computer that measured: read from /proc and /sys, never guessed.

_CPUS = Path("/sys/devices/system/cpu")
# What a shell adds to the number of the signal that ended a command.
_SIGNALLED = 128


def host_facts() -> tuple[tuple[str, str], ...]:
    """CPU model, usable CPUs, SMT, frequency governor, memory and load average; what is not told is left out."""
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


# The settings of a site that belong to one plugin, each of the kind it must have.


class SettingKind(Enum):
    """What a setting is; the value says it in messages."""

    TEXT = "a text"
    NUMBER = "a whole number from 0 on"
    SWITCH = "true or false"
    WORDS = "words: a text, or a list of texts"

    def allows(self, value: Setting) -> bool:
        """Whether the value is of this kind; TOML's true is no number."""
        if isinstance(value, bool):
            return self is SettingKind.SWITCH
        if isinstance(value, int):
            return self is SettingKind.NUMBER and value >= 0
        if isinstance(value, str):
            return self in (SettingKind.TEXT, SettingKind.WORDS)
        return self is SettingKind.WORDS and isinstance(value, tuple)


class SiteSettings:
    """What a site says to a machine that knows settings of these kinds, by name."""

    def __init__(self, site: Site, known: Mapping[str, SettingKind]) -> None:
        self._name = site.name
        self._values = dict(site.settings)
        self._known = known

    def check(self) -> None:
        """Raises ``PlanError`` for a setting that is not known or of another kind."""
        for name, value in self._values.items():
            if name not in self._known:
                known = ", ".join(sorted(self._known)) or "none"
                raise PlanError(
                    f"the machine {self._name} knows no setting {name} (it knows {known}); correct the plan"
                )
            if not self._known[name].allows(value):
                demand = f"has to be {self._known[name].value}"
                raise PlanError(
                    f"the setting {name} of the machine {self._name} is {value!r}, but {demand}; correct it"
                )

    def text(self, name: str, otherwise: str = "") -> str:
        """A setting that is a text, or can be written as one."""
        return str(self._values.get(name, otherwise))

    def number(self, name: str, otherwise: int) -> int:
        """A setting that is a number; what is none stands for ``otherwise``, for ``check`` has refused it."""
        value = self._values.get(name, otherwise)
        return value if isinstance(value, int) else otherwise

    def switch(self, name: str, otherwise: bool) -> bool:
        """A setting that is true or false."""
        return bool(self._values.get(name, otherwise))

    def words(self, name: str) -> tuple[str, ...]:
        """A list of words; a text is split as a shell does."""
        value = self._values.get(name, ())
        return value if isinstance(value, tuple) else tuple(shlex.split(str(value)))

    def has(self, name: str) -> bool:
        """Whether the site sets it at all."""
        return name in self._values


class HereMachine:
    """The computer that linesmith runs on; its kernel is what it is, so this is for programs."""

    name = "here"

    def obstacle(self, site: Site) -> str | None:
        """Why steps cannot run here; ``None`` if they can. The number of CPUs is the host's, whatever is asked for."""
        try:
            SiteSettings(site, {}).check()
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
        raise GuestHung(f"{name} was not done after {seconds:.0f} s and was killed; {rest}")
    if ended.too_long:
        raise GuestFailed(f"{name} printed more than {MOST_BYTES >> 20} MiB and was killed; {rest}")
    if ended.starved and status:
        raise GuestOutOfMemory(f"{name} ended with status {status} while the kernel killed for want of memory; {rest}")
    return Done(step, status, read_output(output), read_output(errors), ended.seconds)
