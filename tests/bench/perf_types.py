# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``perf report`` says of the data type behind each sampled instruction, by address of the file."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loaded_file import LoadedFile

SEPARATOR = "|"
WIDE = "4000"  # columns; perf cuts lines that are wider than its terminal
_TYPE_OFFSET = re.compile(r"(?P<type>.*) \+(?P<offset>0x[0-9a-f]+|\d+) \((?P<field>.*)\)")
_NOT_KNOWN = "(unknown)"


@dataclass(frozen=True, slots=True)
class PerfAnswer:
    """One sampled instruction: ``samples`` of it, and the type with the offset into it in bytes, if perf knows them.

    ``type`` is ``(stack operation)`` or ``(stack canary)`` for what perf takes for work on the stack itself.
    """

    file: str
    address: int
    symbol: str
    samples: int
    type: str | None = None
    offset: int = 0
    field: str = ""

    @property
    def stack_operation(self) -> bool:
        """Whether perf says that only the stack is touched, and names no type."""
        return self.type is not None and self.type.startswith("(stack")


@dataclass(frozen=True, slots=True)
class PerfReport:
    """All answers for a recording, with the seconds of processor time that perf and its children needed."""

    answers: tuple[PerfAnswer, ...]
    cpu: float
    cpu_without_types: float


def knows_types(perf: str) -> bool:
    """Whether this perf is there and can sort by data type (6.8 or later, built with libdw)."""
    try:
        shown = subprocess.run([perf, "report", "-h"], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return False
    return "typeoff" in shown.stdout + shown.stderr


def typed(perf: str, recording: Path, vmlinux: Path | None) -> PerfReport:
    """Ask perf for the type of each sampled instruction; the same report without types tells what those cost."""
    plain, _ = _report(perf, recording, vmlinux, "dso,sym,symoff")
    cpu, text = _report(perf, recording, vmlinux, "dso,sym,type,typeoff,symoff")
    return PerfReport(tuple(_answers(text)), cpu, plain)


def _report(perf: str, recording: Path, vmlinux: Path | None, keys: str) -> tuple[float, str]:
    """(Seconds of processor time, standard output) of one report; a failure ends the bench."""
    kernel = ["-k", str(vmlinux)] if vmlinux else []
    command = [perf, "report", "-i", str(recording), "--stdio", "-v", "-n", "-t", SEPARATOR, "-s", keys, *kernel]
    with tempfile.TemporaryFile("w+", errors="replace") as output, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=output, stderr=errors, env={**os.environ, "COLUMNS": WIDE})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if child.returncode:
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: {errors.read()[-500:]}")
        return usage.ru_utime + usage.ru_stime, output.read()


def _answers(text: str) -> Iterator[PerfAnswer]:
    """The lines of a report: share, samples, file, address with symbol, type, type with offset, symbol and offset."""
    loaded: dict[str, LoadedFile] = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(SEPARATOR)]
        if line.startswith("#") or len(parts) < 6 or not parts[3].startswith("0x"):
            continue
        file, place, found = parts[2], parts[3].split(maxsplit=3), _TYPE_OFFSET.fullmatch(parts[5])
        if not Path(file).is_file():
            continue
        if file not in loaded:
            loaded[file] = LoadedFile(Path(file))
        address = loaded[file].address_of(int(place[0], 16))  # perf counts in bytes of the file, but for kernels
        answer = PerfAnswer(file, address, place[3] if len(place) > 3 else "", int(parts[1]))
        if found and parts[4] != _NOT_KNOWN:
            answer = PerfAnswer(
                file, address, answer.symbol, answer.samples, parts[4], int(found["offset"], 0), found["field"]
            )
        yield answer
