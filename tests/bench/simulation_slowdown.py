# SPDX-License-Identifier: GPL-2.0-or-later
"""What the simulation costs beside plain emulation: ``python tests/bench/simulation_slowdown.py BZIMAGE``.

A storm of short-lived shells runs in a guest three ways in turns: plain, with the plugin loaded but outside its region
of interest, and inside it. A figure is the processor time that QEMU takes between two lines of the guest's console, so
that other work on this machine disturbs little; the table gives medians, and ratios to plain emulation.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.plugins.machines.guest_files import ArchiveEntry, archive, file, folder
from linesmith.plugins.machines.user import Border, marker_program, plugin_file

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
storm() {{ i=0; while [ $i -lt $1 ]; do /bin/busybox sh -c 'exit 0'; i=$((i+1)); done; }}
storms() {{ c=0; while [ $c -lt {cpus} ]; do storm $1 & c=$((c+1)); done; wait; }}
[ {marked} = 1 ] && /bin/start
storms {warming}
echo storm begins
storms {shells}
echo storm ends
[ {marked} = 1 ] && /bin/stop
/bin/busybox poweroff -f
"""


@dataclass(frozen=True)
class Machine:
    """The guest that every run boots."""

    qemu: Sequence[str]
    kernel: Path
    cpus: int
    shells: int
    timing: Sequence[str]


@dataclass(frozen=True)
class Way:
    """How one kind of run differs: the options of the plugin, if any, and whether the guest marks its region."""

    name: str
    plugin: str | None
    marked: bool


def initramfs(machine: Machine, marked: bool) -> bytes:
    """busybox, the two markers, and a script that announces the storm on the console."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise SystemExit("busybox is not installed; install the package busybox-static")
    script = INIT.format(cpus=machine.cpus, marked=int(marked), warming=machine.shells // 4, shells=machine.shells)
    return archive(
        (
            folder("bin"),
            file("init", script.encode(), 0o755),
            file("bin/busybox", Path(busybox).read_bytes(), 0o755),
            file("bin/start", marker_program("x86_64", Border.START), 0o755),
            file("bin/stop", marker_program("x86_64", Border.STOP), 0o755),
            ArchiveEntry("dev/console", 0o020600, b"", (5, 1)),
        )
    )


def command(machine: Machine, way: Way, image: Path) -> tuple[str, ...]:
    """The words that start one run."""
    plugin = (
        () if way.plugin is None else ("-plugin", f"{plugin_file()},out={image.with_name('recording')}{way.plugin}")
    )
    return (
        *machine.qemu,
        *("-M", "q35", "-cpu", "max", "-accel", "tcg,thread=single", "-smp", str(machine.cpus), "-m", "1G"),
        *("-kernel", str(machine.kernel), "-initrd", str(image), "-nodefaults", "-display", "none"),
        *("-append", "console=ttyS0 nokaslr quiet panic=-1", "-serial", "stdio", "-no-reboot"),
        *machine.timing,
        *plugin,
    )


def processor_seconds(process: int) -> float:
    """User and system time of a running process, its threads included. Source: proc(5), /proc/PID/stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def storm_seconds(words: Sequence[str]) -> float:
    """Processor time between the two lines of the console; a guest that ends without them ends the bench."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as qemu:
        times = dict(announced(qemu))
    if len(times) != 2:
        raise SystemExit(f"the guest ended before its storm did: {' '.join(words)}")
    return times["ends"] - times["begins"]


def announced(qemu: subprocess.Popen[bytes]) -> Iterator[tuple[str, float]]:
    """The words of the guest's announcements, each with QEMU's processor time at that moment."""
    if qemu.stdout is None:
        return
    for line in qemu.stdout:
        _, storm, word = line.decode(errors="replace").rstrip().rpartition("storm ")
        if storm:
            yield word, processor_seconds(qemu.pid)


def measured(machine: Machine, ways: Sequence[Way], rounds: int) -> dict[str, list[float]]:
    """Seconds of each way, one run of every way a round."""
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(rounds):
            for way in ways:
                image = Path(scratch, "initramfs")
                image.write_bytes(initramfs(machine, way.marked))
                seconds[way.name].append(storm_seconds(command(machine, way, image)))
    return seconds


def main() -> None:
    """Parse the command line, measure, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("kernel", type=Path, help="a bootable x86-64 kernel (bzImage)")
    parser.add_argument("--qemu", default="qemu-system-x86_64", help="QEMU's command, with words of its own if need be")
    parser.add_argument("--smp", type=int, default=4)
    parser.add_argument("--shells", type=int, default=60, help="shells that each CPU starts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--options", default="", help="further options of the plugin: key=value,...")
    parser.add_argument("--icount", action="store_true", help="let instructions be the clock")
    given = parser.parse_args()
    timing = ("-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm", "-seed", "1") if given.icount else ()
    machine = Machine(given.qemu.split(), given.kernel, given.smp, given.shells, timing)
    options = f",{given.options}" if given.options else ""
    ways = (Way("plain", None, False), Way("outside", options, False), Way("inside", options, True))
    seconds = measured(machine, ways, given.rounds)
    plain = statistics.median(seconds["plain"])
    for name, values in seconds.items():
        middle = statistics.median(values)
        print(f"{name:<8} {middle:7.2f} s  {middle / plain:5.2f}x  of {', '.join(f'{value:.2f}' for value in values)}")


if __name__ == "__main__":
    main()
