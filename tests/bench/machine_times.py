# SPDX-License-Identifier: GPL-2.0-or-later
"""What a session costs beside its steps: ``python tests/bench/machine_times.py BZIMAGE...``.

Each kernel is booted with four and with eight CPUs. Shown are, in seconds of wall time: from the start of QEMU to the
first step, the whole session, what one step costs beside its own time, and how fast output comes over. The load of the
host stands beside them, for it decides. The last rows are this host without a guest.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.model import Built, Site, Step
from linesmith.plugins.api import Machine
from linesmith.plugins.registry import machine

OUTPUT_BYTES = 1 << 20
# Nothing at all several times, and output last.
STEPS = (*(Step(("true",)),) * 8, Step(("head", "-c", str(OUTPUT_BYTES), "/dev/zero")))
COLUMNS = ("machine", "CPUs", "first step", "session", "a step", "kB/s", "load")


@dataclass
class Clock:
    """When each thing was told."""

    told: list[float] = field(default_factory=lambda: [time.monotonic()])

    def hear(self, what: str) -> None:
        if what.startswith("running"):
            self.told.append(time.monotonic())


def measured(place: Machine, site: Site, built: Built) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as scratch:
        clock, load = Clock(), os.getloadavg()[0]
        done = place.run(site, built, STEPS, Path(scratch), clock.hear).done
        end = time.monotonic()
    beginning, *steps = clock.told
    costs = [later - sooner - one.seconds for sooner, later, one in zip(steps, steps[1:], done, strict=False)]
    rate = OUTPUT_BYTES / 1000 / (end - steps[-1] - done[-1].seconds)
    figures = (
        f"{steps[0] - beginning:.1f}",
        f"{end - beginning:.1f}",
        f"{statistics.median(costs):.2f}",
        f"{rate:.0f}",
    )
    return (*figures, f"{load:.1f}")


def main() -> None:
    """Print a row for each kernel and number of CPUs, and one for this host."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="+", type=Path)
    print(" | ".join(COLUMNS))
    for kernel in parser.parse_args().kernels:
        for cpus in (4, 8):
            built = Built("build", kernel.parent, (("kernel", kernel),))
            row = measured(machine("qemu"), Site("qemu", cpus=cpus, memory=512 << 20), built)
            print(" | ".join((str(kernel), str(cpus), *row)), flush=True)
    print(
        " | ".join(("this host", str(os.cpu_count()), *measured(machine("here"), Site("here"), Built("", Path(), ()))))
    )


if __name__ == "__main__":
    main()
