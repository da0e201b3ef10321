# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the files of an emulated program lie in its memory, as seen from the emulator's own address space."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# Source: proc_pid_maps(5).
_ROW = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(/.*)")


@dataclass(frozen=True, slots=True)
class Mapping:
    """Bytes of a file from ``offset`` on, at the addresses from ``start`` up to ``end``."""

    start: int
    end: int
    offset: int
    path: str


def read_mappings(process: int) -> tuple[Mapping, ...]:
    """Files mapped by the process with that number; none when it has ended."""
    try:
        text = Path(f"/proc/{process}/maps").read_text("utf-8", "surrogateescape")
    except OSError:
        return ()
    rows = filter(None, map(_ROW.fullmatch, text.splitlines()))
    return tuple(Mapping(int(row[1], 16), int(row[2], 16), int(row[3], 16), row[4]) for row in rows)


def load_address(mappings: Iterable[Mapping], path: Path) -> int | None:
    """Where the first byte of a file lies; ``None`` when it is not mapped."""
    return min((one.start - one.offset for one in mappings if one.path == str(path)), default=None)
