# SPDX-License-Identifier: GPL-2.0-or-later
"""Saves what was read of an ELF file, with what else its layouts are judged by: the kernel's release."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.cli.output import deliver
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.saved_index import SavedIndex, content
from linesmith.analyzer.slab import release_of


def save(reading: Reading, elf: Path, destination: Path) -> None:
    """Write the index of ``elf``; raises ``OutputError``."""
    release = release_of(elf)
    # As linux_banner has it, so that the release is found here as it is in an image.
    banner = "Linux version {}.{} ".format(*release) if release else ""
    deliver(content(SavedIndex(reading.identity, reading.reader, banner), reading.layouts), destination)
