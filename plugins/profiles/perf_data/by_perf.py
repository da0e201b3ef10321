# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples out of hardware traces (AUX data, as of Arm SPE), which perf decodes and prints one a line.

Everything else is read without perf: printing a sample takes perf longer than reading and counting it takes us.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from linesmith.analyzer.errors import ProfileError, ToolMissing
from linesmith.plugins.machines.child import Streams, child, find, wait
from linesmith.plugins.profiles.samples import Code, Mode, Samples
from linesmith.plugins.profiles.script_line import read_sample

_PACKAGE = "linux-perf"
_FIELDS = ("pid", "tid", "cpu", "misc", "time", "event", "addr", "data_src", "weight", "ip", "sym", "dso")
_NEEDED = ("addr", "data_src", "ip")
_MISSING = re.compile(r"Cannot print '(\w+)' field")
_MODES = {"K": Mode.KERNEL, "U": Mode.USER, "H": Mode.HYPERVISOR, "G": Mode.GUEST_KERNEL, "g": Mode.GUEST_USER}
_KERNEL = 1 << 63
_END_SECONDS = 60
_MOST_COMPLAINT = 1 << 16


def add_decoded(path: Path, source: str, samples: Samples) -> None:
    """Add the samples of memory that perf finds in the traces of the file at ``path``.

    Fields that the events do not have are left out. Raises ``ToolMissing`` where there is no perf that can do it,
    ``ProfileError`` when perf does not understand the file.
    """
    fields = list(_FIELDS)
    while (missing := _printed(path, source, fields, samples)) is not None:
        fields.remove(missing)


def script(path: Path, fields: Sequence[str]) -> tuple[str, ...]:
    """The command that prints the samples; of traces, those of memory."""
    perf = find("perf", f"{_PACKAGE}, for the profile has hardware traces that perf must decode")
    return (perf, "script", "--ns", "--no-demangle", "--itrace=M", "-i", str(path), "-F", ",".join(fields))


def _printed(path: Path, source: str, fields: Sequence[str], samples: Samples) -> str | None:
    """Add all samples; or the name of a field that some event does not have, before any is added."""
    with tempfile.TemporaryFile() as complaints:
        streams = Streams(subprocess.DEVNULL, subprocess.PIPE, complaints)
        with child(script(path.resolve(), fields), Path.cwd(), streams) as process:
            count = sum(_add(line, samples) for line in _lines(process.stdout))
            status = wait(process, "perf script", _END_SECONDS)
        complaints.seek(0)
        said = complaints.read(_MOST_COMPLAINT).decode("utf-8", "replace")
    missing = _MISSING.search(said)
    if not count and status and missing and missing[1] in fields and missing[1] not in _NEEDED:
        return missing[1]
    if status:
        raise _refusal(source, said)
    return None


def _lines(output: IO[bytes] | None) -> Iterator[str]:
    for line in output or ():
        yield line.decode("utf-8", "replace").rstrip("\n")


def _add(line: str, samples: Samples) -> bool:
    """Add the sample on the line; whether it is one."""
    found = read_sample(line)
    if found is None:
        samples.unread += bool(line.strip())
        return False
    task, place = found.task, found.place
    ip = place.address
    mode = _MODES.get(task.mode, Mode.KERNEL if ip is not None and ip >= _KERNEL else Mode.USER)
    code = Code(place.symbol, place.object_file)
    samples.add(found.address, found.source, ip, found.weight, task.cpu, task.pid, code, mode)
    return True


def _refusal(source: str, said: str) -> ProfileError | ToolMissing:
    """What perf says in one sentence; an older one does not know the options."""
    words = next((line.strip() for line in said.splitlines() if line.strip()), "it says nothing")
    if "nvalid field requested" in said or "unknown option" in said or "Bad Instruction Tracing" in said:
        return ToolMissing(
            f"{source} has hardware traces, and this perf is too old to decode them ({words[:200]!a}); install "
            f"{_PACKAGE} 6.1 or later, or give the text of `perf script -F +pid,addr,data_src,weight`"
        )
    return ProfileError(f"{source} has hardware traces that perf does not decode ({words[:200]!a}); record it again")
