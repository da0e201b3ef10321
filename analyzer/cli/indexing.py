# SPDX-License-Identifier: GPL-2.0-or-later
"""Saves what was read of an ELF file, with what else its layouts are judged by: the kernel's release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from linesmith.analyzer.cli.output import deliver
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.saved_index import SavedIndex, content
from linesmith.analyzer.slab import release_of
from linesmith.analyzer.store import NO_STAMP, IndexedLayouts


def save(reading: Reading, elf: Path, destination: Path) -> None:
    """Write the index of ``elf``; raises ``OutputError``."""
    release = release_of(elf)
    # As linux_banner has it, so that the release is found here as it is in an image.
    banner = "Linux version {}.{} ".format(*release) if release else ""
    # It is made to be handed on, so it does not tell where the file lay.
    identity = replace(reading.identity, path=elf.name, debug_path=None)
    layouts = IndexedLayouts(msgspec.structs.replace(reading.layouts.head, stamp=NO_STAMP), reading.layouts.body)
    deliver(content(SavedIndex(identity, reading.reader, banner), layouts), destination)
