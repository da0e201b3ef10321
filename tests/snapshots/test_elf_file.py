# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a memory dump is read without drgn: segments, notes, and where bytes lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshots.elf_bytes import CORE, elf, note

from linesmith.analyzer.errors import SnapshotError
from linesmith.plugins.snapshots.elf_file import ElfFile, Note

DUMP = elf(CORE, note(b"CORE", 1, b"status") + note(b"GNU", 3, bytes(20)), b"....here....here", physical=0x1000)


def opened(folder: Path, content: bytes) -> ElfFile:
    (folder / "dump").write_bytes(content)
    return ElfFile(folder / "dump")


def test_notes_with_the_addresses_of_their_headers(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as dump:
        assert list(dump.notes()) == [Note(b"CORE", 1, b"status", 0x1000), Note(b"GNU", 3, bytes(20), 0x101C)]
        assert dump.build_id == Note(b"GNU", 3, bytes(20), 0x101C)


def test_bytes_are_found_at_their_physical_addresses(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as dump:
        assert list(dump.find(b"here")) == [0x1004, 0x100C]
        assert dump.physical(0x1004, 4) == b"here"


def test_memory_that_the_dump_does_not_hold(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as dump, pytest.raises(SnapshotError, match="no memory at the physical address 0x100e"):
        dump.physical(0x100E, 4)


def test_note_that_is_longer_than_its_segment_ends_it(tmp_path: Path) -> None:
    cut = note(b"CORE", 1, b"") + b"\x05\0\0\0\xff\0\0\0\x01\0\0\0GNU\0\0\0\0\0"
    with opened(tmp_path, elf(CORE, cut, b"")) as dump:
        assert [one.owner for one in dump.notes()] == [b"CORE"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"KDUMP   " + bytes(100), "no 64-bit little-endian ELF file; QEMU's dump-guest-memory writes memory as one"),
        (DUMP[:100], "cut off within its program headers"),
        (DUMP[:32] + b"\xff" * 8 + DUMP[40:], "cut off within its program headers"),
        (DUMP[:-1], f"cut off: it has {len(DUMP) - 1} of {len(DUMP)} bytes"),
    ],
    ids=["empty", "kdump", "headers", "headers beyond any file", "memory"],
)
def test_refusals(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        opened(tmp_path, content)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="No such file"):
        ElfFile(tmp_path / "none")
