# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user hears when the memory cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from snapshots.elf_bytes import CORE, EXECUTABLE, elf, note

from linesmith.analyzer.errors import SnapshotError, ToolMissing
from linesmith.plugins.registry import snapshot_source

SOURCE = "int main(void) { return 0; }"


def vmlinux_like(folder: Path, *options: str) -> Path:
    """A program with a build-id, which stands for a vmlinux that does not fit."""
    (folder / "main.c").write_text(SOURCE)
    command = ("gcc", "-g", *options, "-Wl,--build-id=sha1", "main.c", "-o", "vmlinux")
    subprocess.run(command, cwd=folder, check=True)
    return folder / "vmlinux"


def read(memory: Path, vmlinux: Path) -> None:
    snapshot_source("drgn").read(memory, vmlinux, [0xFFFF888000001000])


def test_dump_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(elf(CORE, note(b"CORE", 1, b""), bytes(64))[:-1])
    with pytest.raises(SnapshotError, match=r"dump is cut off: it has \d+ of \d+ bytes; write it again"):
        read(tmp_path / "dump", vmlinux_like(tmp_path))


def test_text_file_for_a_dump(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"main\.c is no 64-bit little-endian ELF file"):
        read(tmp_path / "main.c", vmlinux_like(tmp_path))


def test_program_for_a_dump(tmp_path: Path) -> None:
    program = vmlinux_like(tmp_path)
    with pytest.raises(SnapshotError, match="vmlinux is no memory dump but another ELF file"):
        read(program, program)


def test_vmlinux_without_a_build_id(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(elf(CORE, b"", bytes(64)))
    (tmp_path / "vmlinux").write_bytes(elf(EXECUTABLE, b"", b""))
    with pytest.raises(SnapshotError, match="vmlinux has no build-id"):
        read(tmp_path / "dump", tmp_path / "vmlinux")


def test_dump_of_another_kernel(tmp_path: Path) -> None:
    text = f"OSRELEASE=6.1.0\nBUILD-ID={bytes(20).hex()}\n".encode()
    (tmp_path / "dump").write_bytes(elf(CORE, note(b"VMCOREINFO", 0, text), bytes(64)))
    with pytest.raises(SnapshotError, match=f"build-id {bytes(20).hex()}, not of .*; give the vmlinux of the dumped"):
        read(tmp_path / "dump", vmlinux_like(tmp_path))


def test_running_kernel_with_a_vmlinux_of_another(tmp_path: Path) -> None:
    # Where the running kernel cannot be read at all, that is said instead.
    with pytest.raises(SnapshotError, match=r"cannot read the running kernel from /proc/kcore|not of .*vmlinux"):
        read(Path("/proc/kcore"), vmlinux_like(tmp_path))


def test_drgn_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "drgn", None)
    with pytest.raises(ToolMissing, match=r"needs drgn .*; install it with: .*pip install 'linesmith\[snapshot\]'"):
        read(tmp_path, tmp_path)


def test_reader_that_is_not_installed() -> None:
    with pytest.raises(SnapshotError, match=r"no reader of memory is called crash \(installed: drgn\)"):
        snapshot_source("crash")
