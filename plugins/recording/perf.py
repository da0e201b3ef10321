# SPDX-License-Identifier: GPL-2.0-or-later
"""Records with ``perf c2c record`` where the machine's PMU samples data addresses; the profile is of its samples."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from linesmith.analyzer.base.child import Command, child, find, printing_to, run_apart, wait
from linesmith.analyzer.base.errors import CommandTimedOut, NotRecorded, ToolMissing
from linesmith.analyzer.model import Order, Recorded
from linesmith.plugins.profiles.formats import PerfData

_PACKAGE = "linux-perf"
_DATA = "perf.data"
_PROBE_SECONDS = 20


class PerfRecorder:
    """Wraps ``perf c2c record``. Source: perf-c2c(1)."""

    name = "perf"

    def obstacle(self, order: Order) -> str | None:
        """Why perf cannot carry out the order here; found out by sampling a command that does nothing."""
        if order.emulation.first:
            return "perf samples the whole command, so there is no --from"
        if order.trace:
            return "perf keeps no trace of all accesses, so there is no --trace"
        perf = shutil.which("perf")
        if perf is None:
            return f"perf is not installed (package {_PACKAGE})"
        argv = (perf, "c2c", "record", "-o", "/dev/null", "--", "true")
        try:
            done = run_apart(Command(argv, Path.cwd(), _PROBE_SECONDS, variables=os.environ))
        except (ToolMissing, CommandTimedOut) as error:
            return f"perf does not run ({error})"
        said = next((line.strip() for line in done.errors.splitlines() if line.strip()), "it says nothing")
        return None if done.status == 0 else f"the PMU samples no data addresses here ({said})"

    def commands(self, order: Order) -> tuple[str, ...]:
        """The one command."""
        return (shlex.join(_record(order, Path(_DATA))),)

    def planned(self, order: Order, machine: str) -> tuple[str, ...]:  # noqa: ARG002 - the PMU is this machine's
        """The one command."""
        return self.commands(order)

    def record(self, order: Order, scratch: Path, tell: Callable[[str], None]) -> Recorded:
        """Sample the order's command.

        Raises ``ToolMissing``, ``NotRecorded``, or ``ProfileError`` where no line is shared or perf.data is damaged.
        """
        if obstacle := self.obstacle(order):
            raise ToolMissing(f"{obstacle}; record with --on qemu or --on qemu-user, which need no PMU")
        data = scratch / _DATA
        tell("running the command")
        with printing_to(order.output) as streams, child(_record(order, data), Path.cwd(), streams) as sampled:
            status = wait(sampled, order.command[0], order.seconds)
        if not data.is_file():
            raise NotRecorded(f"perf c2c record ended with status {status} and wrote nothing; see its output above")
        tell("reading the samples")
        return Recorded(PerfData().read(data, "perf's recording")[0], status=status)


def _record(order: Order, data: Path) -> tuple[str, ...]:
    return (find("perf", _PACKAGE), "c2c", "record", "-o", str(data), "--", *order.command)
