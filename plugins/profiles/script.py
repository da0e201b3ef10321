# SPDX-License-Identifier: GPL-2.0-or-later
"""The text that ``perf script`` printed on another machine: samples of memory accesses, one a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import MOST_CALLERS, Profile, Remark, Sampling
from linesmith.plugins.api import SCRIPT, decode
from linesmith.plugins.profiles.formats import PLAIN_SAMPLE, bare
from linesmith.plugins.profiles.sample_profile import SymbolStarts, profile_of_samples
from linesmith.plugins.profiles.samples import Code, Samples, cpus_of, mode_of
from linesmith.plugins.profiles.script_line import CodePlace, ScriptSample, read_place, read_sample

_FIELD = re.compile(r"#\s{0,8}([a-z][a-z0-9 ]{1,30}?)\s*:\s*(\S.{0,2000})$")
_NODE = re.compile(r"#\s{0,8}node(\d{1,4}) cpu list\s*:\s*([\d,-]{1,4000})\s*$", re.ASCII)
_LONGEST = 500

_KEPT_FIELDS = frozenset(("os release", "arch", "nrcpus avail", "cmdline"))

_LONGEST_LINE = 16 << 10
_HEAD_BYTES = 64 << 10

_CALL = re.compile(r"(?:\s+([0-9a-f]{1,16})\s+(\S.{0,2000})|\t\s*([0-9a-f]{1,16}))$", re.ASCII)
_LOST = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)? lost (\d{1,15})", re.ASCII)
_MOST_EVENTS = 64
_MOST_CALLERS = 127
_ADVICE = f"give the perf.data itself, or the text of {SCRIPT}"


def read_script(path: Path, source: str) -> tuple[Profile, ...]:
    """The one profile of all samples in the file; raises ``ProfileError`` when no line of them is shared."""
    text = _ScriptText()
    for line in _clean_lines(path, source):
        text.take(line)
    text.close()
    if not text.sources:
        raise ProfileError(f"{source} {_lacking(text)}")
    events, remarks = tuple(text.events), tuple(text.remarks())
    return (profile_of_samples(text.samples, source, text.sampling, events, text.nodes, remarks),)


def _clean_lines(path: Path, source: str) -> Iterator[str]:
    """Every line without its end; of one that is longer than any that perf prints the beginning."""
    with path.open("rb") as file:
        decode(file.read(_HEAD_BYTES), source)
        file.seek(0)
        inside = False
        while line := file.readline(_LONGEST_LINE):
            if not inside:
                yield bare(line.decode("utf-8", "replace").rstrip("\r\n"))
            inside = not line.endswith(b"\n")


def _lacking(text: _ScriptText) -> str:
    """What is wrong with a text without data sources; perf says on standard error only why it stopped."""
    if text.plain or not text.header:
        return f"is text of `perf script` without data sources; {_ADVICE}"
    return (
        "holds the header of a perf.data but no sample: perf prints none where one event has no data source, such as "
        "cycles recorded beside memory accesses; give the perf.data itself, or record the memory events alone"
    )


class _ScriptText:
    """The state of one pass over the lines: the sample whose callers may still follow, and what was seen so far."""

    def __init__(self) -> None:
        self.samples = Samples()
        # What the header says, as far as it was given, and the node of each CPU.
        self.header: dict[str, str] = {}
        self.nodes: dict[int, int] = {}
        self.events: dict[str, None] = {}
        self.sources = self.plain = 0
        self._without_cpu = self._without_pid = self._without_address = 0
        self._processes: dict[str, int] = {}
        self._starts = SymbolStarts()
        self._code = lru_cache(maxsize=1 << 15)(lambda *known: self.samples.number(Code(*known)))
        self._open: ScriptSample | None = None
        self._callers: list[CodePlace] = []

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
            self._header_line(line)
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
        callers = self._callers
        if not callers:
            self._count(sample)
            return
        self._callers = []
        if sample.place.address is None and callers:
            sample = sample._replace(place=callers[0])
            callers = callers[1:]
        names = tuple(caller.symbol for caller in callers if caller.symbol)[:MOST_CALLERS]
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
        self._starts.add(place)
        code = self._code(place.symbol, place.object_file, sample.callers)
        mode = mode_of(task.mode, place.address)
        self.samples.add(sample.address, sample.source, place.address, sample.weight, task.cpu, pid, code, mode)

    def _process(self, sample: ScriptSample) -> int | None:
        """The process; where only threads are reported, the first thread of the same name stands for it."""
        task = sample.task
        pid = task.pid
        if pid is None and (task.command or task.tid is not None):
            pid = self._processes.setdefault(task.command, task.tid or 0)
        if pid is not None and task.command:
            self.samples.commands.setdefault(pid, task.command)
        return pid

    def _header_line(self, line: str) -> None:
        """Take in one line that begins with ``#``; the first of each kind counts."""
        if (node := _NODE.match(line)) is not None:
            for part in node[2].split(","):
                # Ranges of more than any machine has are none.
                with suppress(ValueError):
                    self.nodes |= dict.fromkeys(cpus_of(part), int(node[1]))
        found = _FIELD.match(line)
        if found and found[1] in _KEPT_FIELDS:
            self.header.setdefault(found[1], " ".join(found[2].split())[:_LONGEST])

    @property
    def sampling(self) -> Sampling:
        """The circumstances that the header and the symbols tell, without the outcomes of the samples."""
        cpus = self.header.get("nrcpus avail", "")
        return Sampling(
            release=self.header.get("os release"),
            machine=self.header.get("arch"),
            cpus=int(cpus) if cpus.isdecimal() and len(cpus) < 10 else None,
            command=self.header.get("cmdline", ""),
            anchor=self._starts.anchor,
        )

    def remarks(self) -> Iterator[Remark]:
        """What the fields that were not printed leave open."""
        for missing, words in (
            (self._without_address, "data address: run perf script with -F +addr"),
            (self._without_cpu, "CPU: who shares a line cannot be told; run perf script with -F +cpu"),
            (self._without_pid, "process: programs are told apart by their names; run perf script with -F +pid"),
        ):
            if missing:
                yield Remark(f"{missing} of {self.sources} samples have no {words}")
