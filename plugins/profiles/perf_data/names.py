# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of functions for a perf.data file, as perf finds them where it was recorded (``--by-symbol``).

The file has addresses only. perf knows the kernel that runs, what lies in its cache of builds (``~/.debug``), and the
files where they were.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Access, Profile, SharedLine
from linesmith.plugins.machines.child import Streams, child, find, wait

_PACKAGE = "linux-perf, which finds the names of functions for --by-symbol"
_ROW = re.compile(rb"\s*([0-9a-f]{1,16}) (.+?)(?:\+0x[0-9a-f]+)? \((.*)\)\s*$")
_UNKNOWN = b"[unknown]"
_END_SECONDS = 60


def with_names(path: Path, profile: Profile) -> Profile:
    """The profile with a function for every code address that perf can name.

    Raises ``ToolMissing`` without perf, ``ProfileError`` when it names none.
    """
    wanted = {access.code_address for line in profile.lines for access in line.accesses if not access.function}
    names = _named(path, (one for one in wanted if one is not None))
    if wanted and not names:
        raise ProfileError(
            f"{profile.source} has addresses but no names of functions, and perf finds none here; run it on the "
            "machine that was recorded, or give the ELF file of the same build"
        )
    return replace(profile, lines=tuple(_with_names(line, names) for line in profile.lines))


def _with_names(line: SharedLine, names: dict[int, tuple[str, str]]) -> SharedLine:
    return replace(line, accesses=tuple(_with_name(access, names) for access in line.accesses))


def _with_name(access: Access, names: dict[int, tuple[str, str]]) -> Access:
    found = names.get(access.code_address or 0)
    return access if found is None else replace(access, function=found[0], object_file=found[1])


def _named(path: Path, wanted: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Function and file by code address."""
    spelt = {f"{one:x}".encode(): one for one in wanted}
    found: dict[int, tuple[str, str]] = {}
    perf = find("perf", _PACKAGE)
    argv = (perf, "script", "--no-demangle", "-i", str(path.resolve()), "-F", "ip,sym,dso")
    with child(argv, Path.cwd(), Streams(subprocess.DEVNULL, subprocess.PIPE, subprocess.DEVNULL)) as process:
        for row in process.stdout or ():
            address = spelt.get(row.split(None, 1)[0] if row.strip() else b"")
            if address is not None and address not in found and (match := _ROW.match(row)) and match[2] != _UNKNOWN:
                found[address] = match[2].decode("utf-8", "replace"), match[3].decode("utf-8", "replace")
        wait(process, "perf script", _END_SECONDS)
    return found
