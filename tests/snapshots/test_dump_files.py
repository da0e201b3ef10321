# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory dumps as files: what they hold, what is told of the kernel, and which are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from snapshots.elf_bytes import CORE, EXECUTABLE, elf, note

from linesmith.analyzer.base.elf import Note
from linesmith.analyzer.base.errors import NotRecorded, SnapshotError, ToolMissing
from linesmith.plugins.recording.text import refuse_unnamed_objects
from linesmith.plugins.registry import snapshot_source
from linesmith.plugins.snapshots.kernel import MemoryFile, vmcoreinfo_of

DUMP = elf(CORE, note(b"CORE", 1, b"status") + note(b"GNU", 3, bytes(20)), b"....here....here", physical=0x1000)


def opened(folder: Path, content: bytes) -> MemoryFile:
    (folder / "dump").write_bytes(content)
    return MemoryFile(folder / "dump")


def test_notes_and_bytes_have_physical_addresses(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as dump:
        assert list(dump.notes()) == [Note(b"CORE", 1, b"status", 0x1000), Note(b"GNU", 3, bytes(20), 0x101C)]
        assert dump.build_id == Note(b"GNU", 3, bytes(20), 0x101C)
        assert list(dump.find(b"here")) == [0x1004, 0x100C]
        assert dump.physical(0x1004, 4) == b"here"
        with pytest.raises(SnapshotError, match="no memory at the physical address 0x100e"):
            dump.physical(0x100E, 4)


def test_note_that_is_longer_than_its_segment_ends_it(tmp_path: Path) -> None:
    cut = note(b"CORE", 1, b"") + b"\x05\0\0\0\xff\0\0\0\x01\0\0\0GNU\0\0\0\0\0"
    with opened(tmp_path, elf(CORE, cut, b"")) as dump:
        assert [one.owner for one in dump.notes()] == [b"CORE"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"KDUMP   " + bytes(100), "not a 64-bit little-endian ELF file; give a dump of QEMU's dump-guest-memory"),
        (DUMP[:100], "cut off within its program headers"),
        (DUMP[:32] + b"\xff" * 8 + DUMP[40:], "cut off within its program headers"),
        (DUMP[:-1], f"cut off: it has {len(DUMP) - 1} of {len(DUMP)} bytes"),
    ],
    ids=["empty", "kdump", "headers", "headers beyond any file", "memory"],
)
def test_files_that_are_no_dump(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(SnapshotError, match=words):
        opened(tmp_path, content)
    with pytest.raises(SnapshotError, match="No such file"):
        MemoryFile(tmp_path / "none")


BUILD_ID = bytes(range(20))
OWN = b"OSRELEASE=6.1.0\nBUILD-ID=" + BUILD_ID.hex().encode() + b"\n"
OTHER = b"OSRELEASE=6.1.0\nBUILD-ID=" + bytes(20).hex().encode() + b"\n"
LINKED = 0xFFFFFFFF81000000
LOADED = 0x1000000


def vmcoreinfo(folder: Path, notes: bytes, memory: bytes) -> bytes:
    (folder / "vmlinux").write_bytes(elf(EXECUTABLE, note(b"GNU", 3, BUILD_ID), b"", LINKED))
    with opened(folder, elf(CORE, notes, memory, LOADED)) as dump, MemoryFile(folder / "vmlinux") as vmlinux:
        return vmcoreinfo_of(dump, vmlinux)


@pytest.mark.parametrize(
    ("notes", "memory"),
    [
        (note(b"VMCOREINFO", 0, OWN), bytes(64)),
        (b"", bytes(64) + note(b"VMCOREINFO", 0, OWN) + bytes(64)),
        (b"", bytes(64) + b"VMCOREINFO\0\0OSRELEASE=1\n" + note(b"VMCOREINFO", 0, OWN)),
    ],
    ids=["note of the dump", "note in the memory", "the word alone is no note"],
)
def test_the_kernel_s_own_note(notes: bytes, memory: bytes, tmp_path: Path) -> None:
    assert vmcoreinfo(tmp_path, notes, memory) == OWN


def test_memory_of_no_kernel(tmp_path: Path) -> None:
    with pytest.raises(
        SnapshotError, match="has no VMCOREINFO, which a running kernel with CONFIG_KEXEC or CONFIG_PROC"
    ):
        vmcoreinfo(tmp_path, b"", bytes(4096))


OF_ANOTHER = note(b"VMCOREINFO", 0, OTHER)


@pytest.mark.parametrize(
    ("dump", "words"),
    [
        (elf(EXECUTABLE, b"", b""), "dump is an ELF file but not a memory dump"),
        (elf(CORE, OF_ANOTHER, bytes(64)), f"build-id {bytes(20).hex()}, not of .*; give the vmlinux of the dumped"),
        # Where the running kernel cannot be read at all, that is said instead.
        ("/proc/kcore", r"cannot read the running kernel from /proc/kcore|not of .*vmlinux"),
    ],
    ids=["program", "another kernel", "running kernel"],
)
def test_dumps_that_do_not_fit(dump: bytes | str, words: str, tmp_path: Path) -> None:
    """The vmlinux is a program with a build-id."""
    vmlinux = tmp_path / "vmlinux"
    vmlinux.write_bytes(elf(EXECUTABLE, note(b"GNU", 3, BUILD_ID), b"", LINKED))
    place = Path(dump) if isinstance(dump, str) else tmp_path / "dump"
    if isinstance(dump, bytes):
        place.write_bytes(dump)
    with pytest.raises(SnapshotError, match=words):
        snapshot_source("drgn").read(place, vmlinux, [0xFFFF888000001000])


def test_vmlinux_without_a_build_id(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(elf(CORE, b"", bytes(64)))
    (tmp_path / "vmlinux").write_bytes(elf(EXECUTABLE, b"", b""))
    with pytest.raises(SnapshotError, match="vmlinux has no build-id"):
        snapshot_source("drgn").read(tmp_path / "dump", tmp_path / "vmlinux", [0])


def test_readers_that_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SnapshotError, match=r"no reader of memory has the name crash \(installed: drgn\)"):
        snapshot_source("crash")
    monkeypatch.setitem(sys.modules, "drgn", None)
    # The reader loads without drgn, too.
    monkeypatch.delitem(sys.modules, "linesmith.plugins.snapshots.identify", raising=False)
    with pytest.raises(ToolMissing, match=r"needs drgn .*; install it with: .*pip install 'linesmith\[snapshot\]'"):
        snapshot_source("drgn").read(tmp_path, tmp_path, [0])
    # Before a kernel is booted, not after.
    with pytest.raises(NotRecorded, match=r"^--vmlinux is to name the kernel's objects, and .* needs drgn"):
        refuse_unnamed_objects(tmp_path, snapshot_source("drgn"))
    refuse_unnamed_objects(None, snapshot_source("drgn"))
