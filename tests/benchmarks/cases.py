# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs of each benchmark, with the values that they tell."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model import Done, Setting, Step

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
        """The command when it has ended well."""
        return Done(ONE_STEP, 0, self.output, self.errors, 2.0)


def crew(name: str, workers: int, operations: int, seconds: float, cpu: float) -> str:
    """What the included programs print."""
    return (
        f"benchmark {name}\nworkers {workers}\noperations {operations}\n"
        f"seconds {seconds:.9f}\ncpu-seconds {cpu:.6f}\nper-second {operations / seconds:.3f}\n"
    )


_STRESS_NG = """\
stress-ng: info:  [77] dispatching hogs: 2 fault
stress-ng: metrc: [77] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [77]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [77] fault              6200      4.00      1.00      4.00      1550.00        1240.00
stress-ng: metrc: [77] miscellaneous metrics:
stress-ng: metrc: [77] fault              21573.18 minor page faults per sec (geometric mean of 2 instances)
stress-ng: info:  [77] successful run completed in 4.00s
"""
# Before there was a word of their own for metrics, and with the columns that --metrics adds.
_OLDER_STRESS_NG = """\
stress-ng: info:  [77] stressor       bogo ops real time  usr time  sys time   bogo ops/s   bogo ops/s
stress-ng: info:  [77]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: info:  [77] mmap                 80      4.00      1.00      1.00        20.00        40.00   50.00   4096
"""
_FUTEX = """\
# Running 'futex/hash' benchmark:
Run summary [PID 7]: 2 threads, each operating on 1024 [private] futexes for 5 secs.

[thread  0] futexes: 0x55bc26cb5440 ... 0x55bc26cb643c [ 3000 ops/sec ]
[thread  1] futexes: 0x55bc26cb66e0 ... 0x55bc26cb76dc [ 2000 ops/sec ]

Averaged 2500 operations/sec (+- 10.63%), total secs = 5
"""
_PIPE = """\
# Running 'sched/pipe' benchmark:
# Executed 200000 pipe operations between two processes

     Total time: 1.000 [sec]

       5.000000 usecs/op
         200000 ops/sec
"""
_WAKE = """\
[Run 1]: Wokeup 2 of 2 threads in 0.0900 ms
[Run 2]: Wokeup 2 of 2 threads in 0.0300 ms
Wokeup 2 of 2 threads in 0.0600 ms (+-33.33%)
"""
_WILL_IT_SCALE = """\
testcase:Anonymous memory page fault
warmup
min:1 max:2 total:3
min:100 max:140 total:240
measurement
min:110 max:140 total:250
min:90 max:160 total:250
average:250
"""
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
