# SPDX-License-Identifier: GPL-2.0-or-later
"""This host, for programs: each step runs under a keeper that ends it with all its children, even if we are killed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed, GuestHung, GuestOutOfMemory, LinesmithError
from linesmith.analyzer.model import Built, Done, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines import keeper
from linesmith.plugins.machines.host_facts import host_facts
from linesmith.plugins.machines.kept import kept, outcome
from linesmith.plugins.machines.output import MOST_BYTES, read_output
from linesmith.plugins.machines.site_settings import SiteSettings
from linesmith.plugins.machines.step_words import check_cpus, name_of, shown, words_of


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
            done.append(_Sitting(scratch, built, number).done(step, seconds))
        return Session(tuple(done), os.uname().release, facts)


class _Sitting:
    """One step on its way; ``number`` counts from 1."""

    def __init__(self, scratch: Path, built: Built, number: int) -> None:
        self._scratch = scratch.absolute()
        self._built = built
        self._number = number
        self._output = self._scratch / f"step-{number}.output"
        self._errors = self._scratch / f"step-{number}.errors"

    def done(self, step: Step, seconds: float) -> Done:
        """Run the step for at most so many seconds."""
        folder = self._scratch / f"step-{self._number}.folder"
        # One that is there was left by a run that was killed.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        job = keeper.Job(
            words_of(step, self._built),
            str(folder),
            os.environ | dict(step.environment),
            step.cpus,
            seconds,
            str(self._output),
            str(self._errors),
            MOST_BYTES,
        )
        ending = self._kept(job)
        shutil.rmtree(folder, ignore_errors=True)
        self._judge(step, ending, seconds)
        output, errors = read_output(self._output), read_output(self._errors)
        return Done(step, ending.status, output, errors, ending.seconds)

    def _kept(self, job: keeper.Job) -> keeper.Outcome:
        with kept(job, self._scratch / f"step-{self._number}.job") as process:
            found = outcome(process, job)
        if found is None:
            raise GuestFailed(f"what watched over step {self._number} was killed; its output is in {self._output}")
        return found

    def _judge(self, step: Step, ending: keeper.Outcome, seconds: float) -> None:
        name, kept = name_of(step, self._number), f"what it had printed is in {self._output} and {self._errors}"
        if ending.late:
            raise GuestHung(f"{name} was not done after {seconds:.0f} s and was killed; {kept}")
        if ending.too_long:
            raise GuestFailed(f"{name} printed more than {MOST_BYTES >> 20} MiB and was killed; {kept}")
        if ending.starved and ending.status:
            raise GuestOutOfMemory(
                f"{name} ended with status {ending.status} while the kernel killed for want of memory; {kept}"
            )
