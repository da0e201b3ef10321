# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernel's description of itself comes from: a note of the dump, its memory, or vmlinux."""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshots.elf_bytes import CORE, EXECUTABLE, elf, note

from linesmith.analyzer.errors import SnapshotError
from linesmith.plugins.snapshots.elf_file import ElfFile
from linesmith.plugins.snapshots.vmcoreinfo import value_of, vmcoreinfo_of

BUILD_ID = bytes(range(20))
OWN = b"OSRELEASE=6.1.0\nBUILD-ID=" + BUILD_ID.hex().encode() + b"\n"
OTHER = b"OSRELEASE=6.1.0\nBUILD-ID=" + bytes(20).hex().encode() + b"\n"
LINKED = 0xFFFFFFFF81000000
# A kernel image of five variables behind its note, linked at LINKED, loaded at 16 MiB and moved by 2 MiB.
SYMBOLS = {
    "linux_banner": (LINKED + 0x40, 64),
    "phys_base": (LINKED + 0x80, 8),
    "__pgtable_l5_enabled": (LINKED + 0x88, 4),
    "init_top_pgt": (LINKED + 0x1000, 8192),
    "empty_zero_page": (LINKED + 0x3000, 4096),
}
LOADED, MOVED = 0x1000000, 0x200000


def image(banner: bytes = b"Linux version 6.1.7-own (someone)") -> bytes:
    phys_base = (LOADED - (LINKED + MOVED - 0xFFFFFFFF80000000)) % (1 << 64)
    start = note(b"GNU", 3, BUILD_ID).ljust(0x40, b"\0") + banner.ljust(0x40, b"\0")
    return (start + phys_base.to_bytes(8, "little") + bytes(4)).ljust(0x1000, b"\0")


def found(folder: Path, notes: bytes, memory: bytes) -> bytes:
    (folder / "dump").write_bytes(elf(CORE, notes, memory, LOADED))
    (folder / "vmlinux").write_bytes(elf(EXECUTABLE, note(b"GNU", 3, BUILD_ID), b"", LINKED))
    with ElfFile(folder / "dump") as dump, ElfFile(folder / "vmlinux") as vmlinux:
        return vmcoreinfo_of(dump, vmlinux, SYMBOLS.__getitem__)


def test_note_of_the_dump(tmp_path: Path) -> None:
    assert found(tmp_path, note(b"VMCOREINFO", 0, OWN), bytes(64)) == OWN


def test_note_in_the_memory(tmp_path: Path) -> None:
    assert found(tmp_path, b"", bytes(64) + note(b"VMCOREINFO", 0, OWN) + bytes(64)) == OWN


def test_the_word_alone_is_no_note(tmp_path: Path) -> None:
    memory = bytes(64) + b"VMCOREINFO\0\0OSRELEASE=1\n" + note(b"VMCOREINFO", 0, OWN)
    assert found(tmp_path, b"", memory) == OWN


def test_made_from_vmlinux_where_the_kernel_wrote_none(tmp_path: Path) -> None:
    text = found(tmp_path, b"", image())
    assert value_of(text, "OSRELEASE") == "6.1.7-own"
    assert value_of(text, "PAGESIZE") == "4096"
    assert value_of(text, "KERNELOFFSET") == f"{MOVED:x}"
    assert value_of(text, "SYMBOL(swapper_pg_dir)") == f"{LINKED + MOVED + 0x1000:x}"
    assert value_of(text, "NUMBER(pgtable_l5_enabled)") == "0"


def test_wrong_build_id_of_some_kernels_gives_way_to_the_note_in_the_image(tmp_path: Path) -> None:
    text = found(tmp_path, note(b"VMCOREINFO", 0, OTHER), image())
    assert value_of(text, "OSRELEASE") == "6.1.7-own"


def test_memory_of_another_kernel(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=f"kernel with the build-id {bytes(20).hex()}, not of .*vmlinux"):
        found(tmp_path, note(b"VMCOREINFO", 0, OTHER), bytes(64))


def test_memory_of_no_kernel_at_all(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is no memory of a running kernel"):
        found(tmp_path, b"", bytes(4096))


def test_copy_of_the_note_is_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is no memory of a running kernel"):
        found(tmp_path, b"", image(banner=b"something else"))
