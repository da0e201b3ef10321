# SPDX-License-Identifier: GPL-2.0-or-later
"""What perf itself has to do: samples out of hardware traces (AUX data, as of Arm SPE), and names (``--by-symbol``).

Everything else is read without perf: printing a sample takes perf longer than reading and counting it takes us. The
file has addresses only; perf knows the kernel that runs, its cache of builds (``~/.debug``), and files where they were.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.child import Streams, child, find, wait
from linesmith.analyzer.base.errors import ProfileError, ToolMissing
from linesmith.analyzer.model import Access, Profile
from linesmith.plugins.profiles.samples import Code, Samples, mode_of
from linesmith.plugins.profiles.script_line import read_sample

_PACKAGE = "linux-perf"
_FIELDS = ("pid", "tid", "cpu", "misc", "time", "event", "addr", "data_src", "weight", "ip", "sym", "dso")
_NEEDED = ("addr", "data_src", "ip")
_MISSING = re.compile(r"Cannot print '(\w+)' field")
_SYMBOLS_PACKAGE = "linux-perf, which finds the names of functions for --by-symbol"
_ROW = re.compile(rb"\s*([0-9a-f]{1,16}) (.+?)(?:\+0x[0-9a-f]+)? \((.*)\)\s*$")
_UNKNOWN = b"[unknown]"
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


def _printed(path: Path, source: str, fields: Sequence[str], samples: Samples) -> str | None:
    """Add all samples; or the name of a field that some event does not have, before any is added."""
    perf = find("perf", f"{_PACKAGE}, for the profile has hardware traces that perf must decode")
    # Of traces, the samples of memory.
    options = ("--ns", "--no-demangle", "--itrace=M", "-i", str(path.resolve()), "-F", ",".join(fields))
    with tempfile.TemporaryFile() as complaints:
        streams = Streams(subprocess.DEVNULL, subprocess.PIPE, complaints)
        with child((perf, "script", *options), Path.cwd(), streams) as process:
            lines = (line.decode("utf-8", "replace").rstrip("\n") for line in process.stdout or ())
            count = sum(_add(line, samples) for line in lines)
            status = wait(process, "perf script", _END_SECONDS)
        complaints.seek(0)
        said = complaints.read(_MOST_COMPLAINT).decode("utf-8", "replace")
    missing = _MISSING.search(said)
    if not count and status and missing and missing[1] in fields and missing[1] not in _NEEDED:
        return missing[1]
    if status:
        raise _refusal(source, said)
    return None


def _add(line: str, samples: Samples) -> bool:
    """Add the sample on the line; whether it is one."""
    found = read_sample(line)
    if found is None:
        samples.unread += bool(line.strip())
        return False
    task, place = found.task, found.place
    code, mode = Code(place.symbol, place.object_file), mode_of(task.mode, place.address or 0)
    samples.add(found.address, found.source, place.address, found.weight, task.cpu, task.pid, code, mode)
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


def with_names(path: Path, profile: Profile) -> Profile:
    """The profile with a function for every code address that perf can name.

    Raises ``ToolMissing`` without perf, ``ProfileError`` when it names none.
    """
    accesses = [access for line in profile.lines for access in line.accesses]
    unnamed = {access.code_address for access in accesses if not access.function}
    callers = {returns for access in accesses for one in access.call_paths for returns in one.returns}
    names = _names_of(path, (one for one in unnamed | callers if one is not None))
    if unnamed and not names:
        raise ProfileError(
            f"{profile.source} has addresses but no names of functions, and perf finds none here; run it on the "
            "machine that was recorded, or give the ELF file of the same build"
        )

    def caller(returns: int) -> str | None:
        return names[returns][0] if returns in names else None

    def renamed(access: Access) -> Access:
        paths = tuple(one.named(caller) for one in access.call_paths)
        found = names.get(access.code_address or 0)
        named = access if found is None else replace(access, function=found[0], object_file=found[1])
        return replace(named, call_paths=paths)

    lines = (replace(line, accesses=tuple(map(renamed, line.accesses))) for line in profile.lines)
    return replace(profile, lines=tuple(lines))


def _names_of(path: Path, addresses: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Function and file by code address."""
    spelt = {f"{one:x}".encode(): one for one in addresses}
    found: dict[int, tuple[str, str]] = {}
    perf = find("perf", _SYMBOLS_PACKAGE)
    argv = (perf, "script", "--no-demangle", "-i", str(path.resolve()), "-F", "ip,sym,dso")
    with child(argv, Path.cwd(), Streams(subprocess.DEVNULL, subprocess.PIPE, subprocess.DEVNULL)) as process:
        for row in process.stdout or ():
            address = spelt.get(row.split(None, 1)[0] if row.strip() else b"")
            if address is not None and address not in found and (match := _ROW.match(row)) and match[2] != _UNKNOWN:
                found[address] = match[2].decode("utf-8", "replace"), match[3].decode("utf-8", "replace")
        wait(process, "perf script", _END_SECONDS)
    return found
