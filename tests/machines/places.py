# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that tests run on, each with what it takes, and a look at what processes are left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.model import Built, Session, Site, Step
from linesmith.plugins.api import Machine

MEMORY = 256 << 20


@dataclass(frozen=True)
class Place:
    """A machine, the site to give it, and the products that every build for it has."""

    machine: Machine
    site: Site
    products: tuple[tuple[str, Path], ...] = ()

    def run(self, steps: Sequence[Step], scratch: Path, **products: Path) -> Session:
        """One session with ``scratch``, which may not be there yet."""
        scratch.mkdir(parents=True, exist_ok=True)
        built = Built("build", scratch, (*self.products, *products.items()))
        return self.machine.run(self.site, built, steps, scratch, lambda _: None)

    def within(self, seconds: int) -> Place:
        """The same with so many seconds for everything."""
        return replace(self, site=replace(self.site, seconds=seconds))


def shell(line: str) -> Step:
    return Step(("sh", "-c", line))


def processes_with(token: str) -> list[str]:
    """Command lines of running processes that hold ``token``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            found += [line] if token in line else []
    return found


def lingering(token: str, seconds: float = 60) -> list[str]:
    """Command lines of the processes with the token that are left after so many seconds, or sooner when none is.

    A process that is about to begin, or that becomes another program (its command line is empty then), is not seen:
    none is left when none was seen for half a second.
    """
    end, quiet = time.monotonic() + seconds, 0
    while quiet < 10 and time.monotonic() < end:
        time.sleep(0.05)
        quiet = 0 if processes_with(token) else quiet + 1
    return processes_with(token)
