# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated cost beside measured slowdown: ``python tests/bench/sharing_against_hardware.py KERNEL``.

Two threads run a family of access patterns, each pair of loops once on the same lines and once on lines far apart.
The machine's two cores are timed; an emulated machine of two CPUs counts the misses of the same code, and each kind of
miss costs the cycles stated here. Printed are both slowdowns, shared over apart, and their rank
correlation.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.plugins.machines.user import plugin_file

HERE = Path(__file__).parent / "sharing"
PLACES = ("shared", "private")
CYCLES_OF_OPERATION = {"read": 1.0, "write": 1.0, "atomic": 8.0, "work": 4.0}
CYCLES_OF_LOOP = 1.0
LEAST = 0.05
CYCLES_OF_MISS = {
    "hitm_local": 100.0,
    "hitm_remote": 100.0,
    "shared_miss": 60.0,
    "upgrade": 60.0,
    "own_local": 100.0,
    "own_remote": 100.0,
}
# What is left of a miss where the core goes on meanwhile: loads of one loop do not wait for each other, stores wait in
# the store buffer. A locked instruction waits for everything before it, so a loop with one pays all its misses.
LEFT_OF_MISS = {"L": 0.1, "S": 0.02, "A": 1.0}
COUNTS = (
    "hits",
    "hitm_local",
    "hitm_remote",
    "shared_miss",
    "cold_miss",
    "upgrade",
    "own_local",
    "own_remote",
    "invalidated",
)


@dataclass(frozen=True)
class Operation:
    """An access of 8 bytes at the offset ``number``, or ``number`` multiplications, in one of ``every`` iterations."""

    kind: str
    number: int
    every: int


@dataclass(frozen=True)
class Pattern:
    """What two threads do in each iteration: ``read0 write8/16 work20`` reads at 0, every 16th time writes at 8."""

    title: str
    loops: tuple[str, str]

    def operations(self, thread: int) -> list[Operation]:
        """The words of one thread's loop."""
        matches = (re.fullmatch(r"([a-z]+)(\d+)(?:/(\d+))?", word) for word in self.loops[thread].split())
        return [Operation(match[1], int(match[2]), int(match[3] or 1)) for match in matches if match]


PATTERNS = (
    # how far apart two writers are
    Pattern("writers, one word", ("write0", "write0")),
    Pattern("writers, 8 bytes apart", ("write0", "write8")),
    Pattern("writers, 56 bytes apart", ("write0", "write56")),
    Pattern("writers, adjacent lines", ("write0", "write64")),
    Pattern("writers, 128 bytes apart", ("write0", "write128")),
    Pattern("writers, 256 bytes apart", ("write0", "write256")),
    # a reader and a writer
    Pattern("reader and writer, one word", ("read0", "write0")),
    Pattern("reader and writer, one line", ("read0", "write32")),
    Pattern("reader and writer, adjacent lines", ("read0", "write64")),
    Pattern("readers, one line", ("read0", "read8")),
    Pattern("readers and rare writer 1:16", ("read0", "read0 write8/16")),
    Pattern("readers and rare writer 1:256", ("read0", "read0 write8/256")),
    Pattern("readers and rare writer 1:4096", ("read0", "read0 write8/4096")),
    # counters
    Pattern("plain counters, one line", ("read0 write0", "read8 write8")),
    Pattern("plain counters, padded", ("read0 write0", "read64 write64")),
    Pattern("atomic counter, one word", ("atomic0", "atomic0")),
    Pattern("atomic counters, one line", ("atomic0", "atomic8")),
    Pattern("atomic counters, padded", ("atomic0", "atomic128")),
    Pattern("atomic counter and reader", ("atomic0", "read8")),
    # the same with private work between the accesses
    Pattern("writers, one line, work 5", ("write0 work5", "write8 work5")),
    Pattern("writers, one line, work 50", ("write0 work50", "write8 work50")),
    Pattern("atomic counters, one line, work 10", ("atomic0 work10", "atomic8 work10")),
    Pattern("atomic counters, one line, work 50", ("atomic0 work50", "atomic8 work50")),
    Pattern("atomic counters, one line, work 200", ("atomic0 work200", "atomic8 work200")),
    Pattern("atomics one in 16, work 10", ("atomic0/16 work10", "atomic8/16 work10")),
    Pattern("atomics one in 64, work 10", ("atomic0/64 work10", "atomic8/64 work10")),
    # several members
    Pattern("three members, one line", ("read0 read8 write16", "read24 read32 write40")),
    Pattern("three members, writes padded", ("read0 read8 write64", "read24 read32 write128")),
    Pattern("three members, two lines", ("read0 write8 write64", "read0 write16 write72")),
    Pattern("lock and its data, one line", ("atomic0 read8 write8", "atomic0 read8 write8")),
    Pattern("lock and its data, two lines", ("atomic0 read64 write64", "atomic0 read64 write64")),
    Pattern(
        "lock and its data, four lines", ("atomic0 write64 write128 write192", "atomic0 write64 write128 write192")
    ),
    Pattern("flags read by all, counter beside", ("read0 read8 atomic16", "read0 read8 work10")),
)


def statement(operation: Operation) -> str:
    """An operation in the macros of loops.c."""
    text = (
        "WORK; " * operation.number if operation.kind == "work" else f"{operation.kind.upper()}({operation.number}); "
    )
    return text if operation.every == 1 else f"if (i % {operation.every} == 0) {{ {text}}} "


def c_source(patterns: Sequence[Pattern]) -> str:
    """The loops of all patterns, and the table of them, as loops.c includes them."""
    text = ""
    for number, pattern in enumerate(patterns):
        for thread in range(2):
            body = "".join(map(statement, pattern.operations(thread)))
            text += f"static void loop_{number}_{thread}(char *bytes, uint64_t from, uint64_t to) {{\n"
            text += "  uint64_t x = 1;\n  (void)bytes;\n"
            text += f"  for (uint64_t i = from; i < to; ++i) {{ {body}}}\n"
            text += '  __asm__ volatile("" : : "r"(x));\n}\n'
    rows = "".join(f"  {{{{loop_{number}_0, loop_{number}_1}}}},\n" for number in range(len(patterns)))
    return f"{text}static const struct pattern patterns[] = {{\n{rows}}};\n"


def built(folder: Path) -> Path:
    """The program of all patterns; static and not relocated, so that its addresses are those of a recording."""
    (folder / "patterns.inc").write_text(c_source(PATTERNS))
    program = folder / "loops"
    options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-static", "-no-pie", "-pthread", f"-I{folder}"]
    subprocess.run(["cc", *options, "-o", str(program), str(HERE / "loops.c")], check=True)
    return program


def output(*command: str | Path | int) -> str:
    """What a command prints; a failure ends the bench."""
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout


Nanoseconds = dict[tuple[int, str], list[tuple[float, ...]]]


def timed(program: Path, rounds: int, windows: int) -> Nanoseconds:
    """Nanoseconds of an iteration of both threads by pattern and place, a row for each window, in rounds."""
    times: Nanoseconds = {}
    for _ in range(rounds):
        for number in range(len(PATTERNS)):
            for place in PLACES:
                rows = output(program, "time", number, place, windows).splitlines()
                times.setdefault((number, place), []).extend(tuple(map(float, row.split())) for row in rows)
    return times


def measured_slowdown(times: Nanoseconds, number: int) -> float:
    """The median time shared over the median time apart, averaged over both threads."""
    shared, private = (times[number, place] for place in PLACES)
    return statistics.mean(
        statistics.median(run[thread] for run in shared) / statistics.median(run[thread] for run in private)
        for thread in range(2)
    )


def cycles(operations: Sequence[Operation], missed: float) -> float:
    """What an iteration costs: its accesses and misses, or the private work where that takes longer."""
    accesses = sum(CYCLES_OF_OPERATION[one.kind] / one.every for one in operations if one.kind != "work")
    work = sum(CYCLES_OF_OPERATION[one.kind] * one.number / one.every for one in operations if one.kind == "work")
    return max(work, CYCLES_OF_LOOP + accesses + missed)


def owners(program: Path) -> dict[int, tuple[int, int]]:
    """Pattern and thread of each byte of the loops' code, by address."""
    found = {}
    for line in output("nm", "-S", program).splitlines():
        if match := re.fullmatch(r"(\w+) (\w+) t loop_(\d+)_(\d)", line):
            start, size = int(match[1], 16), int(match[2], 16)
            found.update(dict.fromkeys(range(start, start + size), (int(match[3]), int(match[4]))))
    return found


def cycles_missed(recording: str, owner: Mapping[int, tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Cycles of all misses by the code of each loop."""
    missed = dict.fromkeys(owner.values(), 0.0)
    for row in (line.split() for line in recording.splitlines() if line.startswith("access ")):
        counts = dict(zip(COUNTS, map(int, row[7:]), strict=True))
        if loop := owner.get(int(row[4], 16)):
            locked = any(one.kind == "atomic" for one in PATTERNS[loop[0]].operations(loop[1]))
            left = 1.0 if locked else LEFT_OF_MISS[row[5]]
            missed[loop] += left * sum(spent * counts[kind] for kind, spent in CYCLES_OF_MISS.items())
    return missed


@dataclass(frozen=True)
class Simulator:
    """A machine of two CPUs that does nothing but the loops; ``quantum`` is in guest instructions."""

    kernel: Path
    quantum: int
    iterations: int

    def recording(self, program: Path) -> str:
        """What the plugin wrote of all patterns."""
        archive = subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet"],
            input=b"loops\n",
            cwd=program.parent,
            check=True,
            capture_output=True,
        ).stdout
        (program.parent / "initramfs").write_bytes(archive)
        out = program.parent / "recording"
        output(
            *(
                "qemu-system-x86_64",
                "-M",
                "q35",
                "-cpu",
                "max",
                "-smp",
                "2",
                "-m",
                "256M",
                "-accel",
                "tcg,thread=single",
            ),
            *("-nodefaults", "-display", "none", "-no-reboot"),
            *("-kernel", self.kernel, "-initrd", program.parent / "initramfs"),
            *("-append", f"quiet nokaslr panic=-1 rdinit=/loops -- count {self.iterations}"),
            *("-plugin", f"{plugin_file()},out={out},quantum={self.quantum},ring=user"),
        )
        return out.read_text()

    def slowdowns(self, program: Path) -> list[float]:
        """For each pattern the cycles of the shared run over those of the private one, averaged over both threads."""
        missed = cycles_missed(self.recording(program), owners(program))

        def slowdown(number: int, thread: int) -> float:
            operations = PATTERNS[number].operations(thread)
            return cycles(operations, missed[number, thread] / self.iterations) / cycles(operations, 0.0)

        return [statistics.mean(slowdown(number, thread) for thread in range(2)) for number in range(len(PATTERNS))]


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each value in the order of all; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def correlation(some: Sequence[float], others: Sequence[float]) -> float:
    """Spearman's: that of the ranks."""
    return statistics.correlation(ranks(some), ranks(others))


def show(measured: Sequence[float], simulated: Sequence[float]) -> None:
    """The table, slowest pattern first, and what both columns have in common."""
    print(f"{'pattern':38} {'measured':>9} {'simulated':>9}")
    for slow, cost, pattern in sorted(zip(measured, simulated, PATTERNS, strict=True), key=lambda row: -row[0]):
        print(f"{pattern.title:38} {slow:9.2f} {cost:9.2f}")
    print(f"{len(PATTERNS)} patterns, rank correlation (Spearman) {correlation(measured, simulated):.3f}")
    seen = [[value if value > 1 + LEAST else 1.0 for value in values] for values in (measured, simulated)]
    print(f"slowdowns below {100 * LEAST:.0f} % taken as none: {correlation(*seen):.3f}")


def main() -> None:
    """Time, simulate and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--windows", type=int, default=7)
    parser.add_argument("--quantum", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=20000)
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {arguments.rounds} x {arguments.windows} windows")
    with tempfile.TemporaryDirectory() as name:
        program = built(Path(name))
        simulator = Simulator(arguments.kernel, arguments.quantum, arguments.iterations)
        simulated = simulator.slowdowns(program)
        times = timed(program, arguments.rounds, arguments.windows)
        show([measured_slowdown(times, number) for number in range(len(PATTERNS))], simulated)
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
