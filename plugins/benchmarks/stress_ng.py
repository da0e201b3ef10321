# SPDX-License-Identifier: GPL-2.0-or-later
"""stress-ng with one of its stressors: exec, mmap, fault, open, or any other that it has.

Source: stress-ng(1), ``--metrics``; the table has had the same first columns since it was there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.analyzer.base.errors import BenchmarkUnknown
from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.programs import SETTINGS, compiler_obstacle, linking, without_rights
from linesmith.plugins.benchmarks.settings import (
    PROGRAM,
    BenchmarkOptions,
    Values,
    ended_well,
    nearest,
    nonsense,
    number,
    options_of,
    program,
    program_obstacle,
    shown,
    thread_count,
    words_of,
)

_STRESSOR = re.compile(r"[a-z][a-z0-9-]{0,31}")
_SECONDS = 10
# Stressors that refuse to be root, the only user that a guest may have.
_NOT_AS_ROOT = ("exec",)
_TEMPORARY = "/tmp"  # noqa: S108 - where the stressors run; they take away what they make
# bogo ops, real, user and system time, bogo ops/s by real time, the same by user and system time.
_ROW = re.compile(r"(?:stress-ng: \w+: +\[\d+\] +)?(\S+) +(\d+)((?: +[\d.]+){5,})", re.ASCII)
_RATES = ("bogo-ops-per-second-real-time", "bogo-ops-per-second-usr-sys-time")
_COMMON = ("exec", "mmap", "fault", "open", "fork", "clone", "futex", "pipe", "switch", "vm", "dentry", "sem")


class StressNg:
    """Instances of a stressor; what they did is counted in its own "bogo operations"."""

    name = "stress-ng"

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """Bogo operations a second, by wall time and by CPU time, of all instances together."""
        options = self._options(settings)
        self._amount(options)
        self._words(options)
        linking(options)
        return (
            Metric("bogo_ops_per_sec", "bogo ops/s", Better.HIGHER),
            Metric("bogo_ops_per_cpu_sec", "bogo ops/CPU-s", Better.HIGHER),
        )

    def obstacle(self, settings: Settings) -> str | None:
        """A stress-ng that is not installed, or a compiler that is not there."""
        options = self._options(settings)
        missing = compiler_obstacle(options) if self._stressor(options) in _NOT_AS_ROOT else None
        return missing or program_obstacle(options, self.name, "stress-ng")

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:
        """So many instances, for ``seconds`` or for ``operations`` of each."""
        options = self._options(settings)
        stressor = self._stressor(options)
        command = (
            program(options, self.name),
            *(f"--{stressor}", str(thread_count(self.name, threads))),
            *self._amount(options),
            *("--metrics-brief", "--no-rand-seed"),
            *("--temp-path", options.text("directory", _TEMPORARY)),
            *self._words(options),
        )
        if stressor in _NOT_AS_ROOT:
            command = without_rights(options, scratch, command)
        return (options.step(command, 0 if "operations" in settings else self._seconds(options)),)

    def operations(self, settings: Settings, threads: int) -> int | None:
        """Bogo operations of all instances; ``None`` where they work for a number of seconds."""
        options = self._options(settings)
        return threads * options.whole("operations", 1, 1, 10**12) if "operations" in settings else None

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The row of the stressor; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        stressor = self._stressor(self._options(settings))
        text = words_of(ended_well(self.name, done)[-1])
        found = next(_of_the_table(stressor, text), None)
        if found is None:
            raise nonsense(self.name, f"it has no metrics of the stressor {stressor}", text)
        real, cpu = (number(self.name, what, word, text) for what, word in zip(_RATES, found, strict=True))
        return ("bogo_ops_per_sec", real), ("bogo_ops_per_cpu_sec", cpu)

    def _options(self, settings: Settings) -> BenchmarkOptions:
        options = options_of(
            self.name, settings, ("stressor", "operations", "seconds", "words", "directory", PROGRAM, *SETTINGS)
        )
        self._stressor(options)
        return options

    def _stressor(self, options: BenchmarkOptions) -> str:
        if "stressor" not in options.settings:
            raise BenchmarkUnknown(f'the benchmark {self.name} needs a stressor: give stressor = "exec", or another')
        stressor = options.text("stressor")
        if not _STRESSOR.fullmatch(stressor):
            raise BenchmarkUnknown(
                f"the benchmark {self.name} cannot run the stressor {shown(stressor)}{nearest(stressor, _COMMON)}; "
                "`stress-ng --stressors` lists what there is"
            )
        return stressor

    def _amount(self, options: BenchmarkOptions) -> tuple[str, ...]:
        if {"operations", "seconds"} <= set(options.settings):
            raise options.refuse("seconds", "either operations or seconds, not both")
        if "operations" in options.settings:
            return f"--{self._stressor(options)}-ops", str(options.whole("operations", 1, 1, 10**12))
        return "--timeout", f"{self._seconds(options)}s"

    def _seconds(self, options: BenchmarkOptions) -> int:
        return options.whole("seconds", _SECONDS, 1, 24 * 3600)

    def _words(self, options: BenchmarkOptions) -> tuple[str, ...]:
        """More options for stress-ng, as one line."""
        try:
            return tuple(shlex.split(options.text("words")))
        except ValueError as error:
            raise options.refuse("words", f"words whose quotes are closed ({error})") from error


def _of_the_table(stressor: str, text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        match = _ROW.match(line.strip()[:400])
        if match and match[1] == stressor:
            _, _, _, real, cpu, *_ = match[3].split()
            yield real, cpu
