# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads an ELF file for a command, with progress and remarks on standard error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.cli.waiting import shown
from linesmith.analyzer.dwarf import Reading, read_layouts
from linesmith.analyzer.errors import CodeMissing, DebugInfoMissing

if TYPE_CHECKING:
    from linesmith.analyzer.access import AccessMap, AccessReading


def load(elf: Path) -> Reading:
    """The layouts of ``elf``; says how far it is when standard error is a terminal, and what went less than well."""
    with shown(f"reading {elf.name}") as progress:
        reading = read_layouts(elf, progress)
    _say(reading.remarks)
    return reading


def load_accesses(elf: Path) -> AccessReading:
    """The access map of ``elf``, made when it is not at hand; says the same things."""
    from linesmith.analyzer.access import read_accesses  # imports numpy, which most commands do without

    with shown(f"following the code of {elf.name}") as progress:
        reading = read_accesses(elf, progress)
    _say(reading.remarks)
    return reading


def load_accesses_if_any(elf: Path) -> AccessMap | None:
    """The access map of ``elf``; where none can be made it says why, for there is weaker evidence to go by."""
    try:
        return load_accesses(elf).accesses
    except (CodeMissing, DebugInfoMissing) as error:
        _say((f"{error}; so what functions declare must tell what they touch",))
        return None


def _say(remarks: tuple[str, ...]) -> None:
    for sentence in remarks:
        remark(sentence)
