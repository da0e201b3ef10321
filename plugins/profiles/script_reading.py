# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects the samples of a ``perf script`` text, with the call chains that follow them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Profile, Remark, Sampling
from linesmith.plugins.profiles.sample_profile import profile_of_samples
from linesmith.plugins.profiles.samples import Code, Mode, Samples
from linesmith.plugins.profiles.script_header import ScriptHeader
from linesmith.plugins.profiles.script_line import PLAIN_SAMPLE, Place, ScriptSample, read_place, read_sample
from linesmith.plugins.profiles.script_lines import clean_lines
from linesmith.plugins.profiles.symbol_starts import SymbolStarts

_CALL = re.compile(r"(?:\s+([0-9a-f]{1,16})\s+(\S.{0,2000})|\t\s*([0-9a-f]{1,16}))$", re.ASCII)
_LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)? lost (\d{1,15})", re.ASCII)
_KERNEL = 1 << 63
_MOST_EVENTS = 64
_MOST_CALLERS = 127
_ADVICE = "give the perf.data itself, or the text of `perf script -F +pid,+addr,+data_src,+weight`"


def profile_in(path: Path, source: str) -> Profile:
    """The profile of all samples in the file; raises ``ProfileError`` when no line is shared."""
    reading = _Reading()
    for line in clean_lines(path, source):
        reading.take(line)
    reading.close()
    if not reading.sources:
        raise ProfileError(f"{source} {_lacking(reading)}")
    header, events, remarks = reading.header, tuple(reading.events), tuple(reading.remarks())
    return profile_of_samples(reading.samples, source, reading.sampling, events, header.nodes, remarks)


def _lacking(reading: _Reading) -> str:
    """What is wrong with a text without data sources; perf says on standard error only why it stopped."""
    if reading.plain or not reading.header.fields:
        return f"is text of `perf script` without data sources; {_ADVICE}"
    return (
        "holds the header of a perf.data but no sample: perf prints none where one event has no data source, such as "
        "cycles recorded beside memory accesses; give the perf.data itself, or record the memory events alone"
    )


class _Reading:
    """The state of one pass over the lines: the sample whose callers may still follow, and what was seen so far."""

    def __init__(self) -> None:
        self.samples = Samples()
        self.header = ScriptHeader()
        self.events: dict[str, None] = {}
        self.sources = self.plain = 0
        self._without_cpu = self._without_pid = self._without_address = 0
        self._processes: dict[str, int] = {}
        self._starts = SymbolStarts()
        self._open: ScriptSample | None = None
        self._callers: list[Place] = []

    def take(self, line: str) -> None:
        """Read one line: a sample, a caller of the sample before, a line of the header, or nothing."""
        sample = read_sample(line)
        if sample is not None:
            self.close()
            self._open = sample
            return
        if not line or line.isspace():
            self.close()
        elif line[0] == "#":
            self.header.hear(line)
        elif self._open is not None and (call := _CALL.match(line)) and len(self._callers) <= _MOST_CALLERS:
            self._callers.append(read_place(int(call[1] or call[3], 16), call[2] or ""))
        else:
            self._other(line)

    def _other(self, line: str) -> None:
        """A sample without a data source, or the note of perf that some were lost."""
        if (lost := _LOST.search(line)) is not None:
            self.samples.lost += int(lost[1])
        elif (plain := PLAIN_SAMPLE.match(line)) is not None and "PERF_RECORD_" not in line:
            self.close()
            self.plain += 1
            if plain["event"] in self.events:
                self.samples.unread += 1
            else:
                self.samples.add(None, 0, None)

    def close(self) -> None:
        """Count the sample that is open; the first address of its call chain is its own."""
        sample, self._open = self._open, None
        if sample is None:
            return
        callers, self._callers = self._callers, []
        if sample.place.address is None and callers:
            sample = sample._replace(place=callers[0])
            callers = callers[1:]
        names = tuple(caller.symbol for caller in callers if caller.symbol)
        self._count(sample._replace(callers=names))

    def _count(self, sample: ScriptSample) -> None:
        task, place = sample.task, sample.place
        self.sources += 1
        self._without_address += sample.address is None
        self._without_cpu += task.cpu is None
        self._without_pid += task.pid is None
        if task.event and len(self.events) < _MOST_EVENTS:
            self.events[task.event] = None
        pid = self._process(sample)
        self._starts.hear(place)
        code = Code(place.symbol, place.object_file, sample.callers)
        mode = _mode(task.mode, place.address)
        self.samples.add(sample.address, sample.source, place.address, sample.weight, task.cpu, pid, code, mode)

    def _process(self, sample: ScriptSample) -> int | None:
        """The process; where only threads are told, the first thread of the same name stands for it."""
        task = sample.task
        pid = task.pid
        if pid is None and (task.command or task.tid is not None):
            pid = self._processes.setdefault(task.command, task.tid or 0)
        if pid is not None and task.command:
            self.samples.commands.setdefault(pid, task.command)
        return pid

    @property
    def sampling(self) -> Sampling:
        """The circumstances that the header and the symbols tell."""
        return replace(self.header.sampling, anchor=self._starts.anchor)

    def remarks(self) -> Iterator[Remark]:
        """What the fields that were not printed leave open."""
        for missing, words in (
            (self._without_address, "data address: run perf script with -F +addr"),
            (self._without_cpu, "CPU: who shares a line cannot be told; run perf script with -F +cpu"),
            (self._without_pid, "process: programs are told apart by their names; run perf script with -F +pid"),
        ):
            if missing:
                yield Remark(f"{missing} of {self.sources} samples have no {words}")


def _mode(letter: str, address: int | None) -> Mode:
    """Whose code it was: as perf says, or by the half of the addresses that the kernel has on 64-bit machines."""
    modes = {"K": Mode.KERNEL, "U": Mode.USER, "H": Mode.HYPERVISOR, "G": Mode.GUEST_KERNEL, "g": Mode.GUEST_USER}
    if letter in modes:
        return modes[letter]
    if address is None:
        return Mode.UNKNOWN
    return Mode.KERNEL if address >= _KERNEL else Mode.USER
