# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs of each benchmark, with the values that they tell; benchmarks run for real, on this machine."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from text_cases import files_in

from linesmith.analyzer.model import Built, Done, Setting, Site, Step
from linesmith.plugins.registry import benchmark, machine

ONE_STEP = Step(("program", "word"))


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark's settings that make sense, and an output of its command with the values that it tells."""

    benchmark: str
    settings: dict[str, Setting]
    output: str
    values: dict[str, float]
    errors: str = ""

    @property
    def done(self) -> Done:
        return Done(ONE_STEP, 0, self.output, self.errors, 2.0)


def crew(name: str, workers: int, operations: int, seconds: float, cpu: float) -> str:
    """What the included programs print."""
    return (
        f"benchmark {name}\nworkers {workers}\noperations {operations}\n"
        f"seconds {seconds:.9f}\ncpu-seconds {cpu:.6f}\nper-second {operations / seconds:.3f}\n"
    )


_STRESS_NG, _OLDER_STRESS_NG, _FUTEX, _PIPE, _WAKE, _WILL_IT_SCALE = files_in(
    Path(__file__).with_name("outputs.txt")
).values()
_HERE = {"directory": "/opt/benchmark"}

CASES = {
    "command": Case("command", {"run": "prog {threads}"}, "took 12.5ms\n", {"value": 12.5}),
    "command-patterns": Case(
        "command",
        {"run": "prog {threads}", "pattern.hits": r"hits=(\d+)", "pattern.rate": r"(?P<value>\S+)/s", "wall": True},
        "hits=3 2.5/s\nhits=4 1,000.5/s\n",
        {"hits": 4.0, "rate": 1000.5, "seconds": 2.0},
    ),
    "exec-storm": Case(
        "exec-storm", {}, crew("exec-storm", 2, 4000, 2.0, 3.2), {"execs_per_sec": 2000, "execs_per_cpu_sec": 1250}
    ),
    "page-faults": Case(
        "page-faults",
        {"mapping": "one", "seconds": 1.5},
        crew("page-faults", 4, 64000, 1.6, 6.4),
        {"faults_per_sec": 40000, "faults_per_cpu_sec": 10000},
    ),
    "stress-ng": Case(
        "stress-ng", {"stressor": "fault"}, _STRESS_NG, {"bogo_ops_per_sec": 1550, "bogo_ops_per_cpu_sec": 1240}
    ),
    "stress-ng-older": Case(
        "stress-ng", {"stressor": "mmap"}, "", {"bogo_ops_per_sec": 20, "bogo_ops_per_cpu_sec": 40}, _OLDER_STRESS_NG
    ),
    "perf-bench-futex": Case("perf-bench", {"suite": "futex hash"}, _FUTEX, {"ops_per_sec_per_thread": 2500}),
    "perf-bench-messaging": Case("perf-bench", {}, "     Total time: 1.066 [sec]\n", {"seconds": 1.066}),
    "perf-bench-wake": Case("perf-bench", {"suite": "futex wake"}, _WAKE, {"ms": 0.06}),
    "perf-bench-pipe": Case(
        "perf-bench",
        {"suite": "sched pipe"},
        _PIPE + _PIPE.replace("5.000", "7.000") + crew("copies", 2, 2, 1.5, 3.0),
        {"usecs_per_op": 6.0},
    ),
    "perf-bench-memory": Case(
        "perf-bench",
        {"suite": "mem memcpy", "size": "64KB"},
        "# function 'default' (Default memcpy() provided by glibc)\n20000.5\n30000.5\n" + crew("copies", 2, 2, 1, 2),
        {"bytes_per_sec": 50001.0},
    ),
    "will-it-scale": Case(
        "will-it-scale",
        {**_HERE, "testcase": "page_fault1"},
        _WILL_IT_SCALE,
        {"ops_per_sec": 250, "slowest_ops_per_sec": 100},
    ),
    "unixbench": Case(
        "unixbench",
        {**_HERE, "test": "shell8", "seconds": 20},
        crew("copies", 3, 3, 20.0, 40.0),
        {"shell8": 3 * 90.0},
        "COUNT|30|60|lpm\nCOUNT|20|60|lpm\nCOUNT|40|60|lpm\n",
    ),
}


def measured(name: str, settings: dict[str, Setting], threads: int, scratch: Path) -> dict[str, float]:
    """The values of one run; programs are kept in ``scratch``."""
    tested = benchmark(name)
    assert tested.obstacle(settings) is None
    steps = tested.steps(settings, threads, scratch)
    folder = Path(tempfile.mkdtemp(dir=scratch))
    session = machine("here").run(Site("here"), Built("", folder, ()), steps, folder, lambda _: None)
    values = dict(tested.parse(settings, session.done))
    assert list(values) == [metric.name for metric in tested.metrics(settings)]
    return values
