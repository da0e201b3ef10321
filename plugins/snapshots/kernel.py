# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens the memory of a kernel together with its debug information as one drgn program."""

from __future__ import annotations

from pathlib import Path

import drgn

from linesmith.analyzer.errors import DebugInfoMissing, SnapshotError
from linesmith.plugins.snapshots.elf_file import ET_CORE, ElfFile
from linesmith.plugins.snapshots.vmcoreinfo import SymbolTable, vmcoreinfo_of

LIVE = Path("/proc/kcore")


def opened(memory: Path, vmlinux: Path) -> drgn.Program:
    """The kernel ``vmlinux`` over its ``memory``: an ELF core file, or ``/proc/kcore`` for the running kernel.

    Raises ``SnapshotError`` when they do not belong together or cannot be read, ``DebugInfoMissing`` when
    ``vmlinux`` has no DWARF.
    """
    with ElfFile(vmlinux) as kernel:
        program = _live() if memory.resolve() == LIVE else _dumped(memory, kernel)
        _expect_build_id(program, kernel, memory)
    try:
        program.load_debug_info([vmlinux])
    except drgn.MissingDebugInfoError as error:
        raise DebugInfoMissing(f"{vmlinux} has no DWARF; give the vmlinux with debug information") from error
    if program.main_module().debug_file_status != drgn.ModuleFileStatus.HAVE:
        raise DebugInfoMissing(f"{vmlinux} has no DWARF; give the vmlinux with debug information")
    return program


def _live() -> drgn.Program:
    program = drgn.Program()
    try:
        program.set_kernel()
    except (OSError, ValueError) as error:
        raise SnapshotError(
            f"cannot read the running kernel from {LIVE}: {error}; that takes root and CONFIG_PROC_KCORE"
        ) from error
    return program


def _dumped(memory: Path, kernel: ElfFile) -> drgn.Program:
    with ElfFile(memory) as dump:
        if dump.kind != ET_CORE:
            raise SnapshotError(f"{memory} is no memory dump but another ELF file; give what dump-guest-memory wrote")
        text = vmcoreinfo_of(dump, kernel, _symbols_of(kernel.path))
    program = drgn.Program(vmcoreinfo=text)
    try:
        program.set_core_dump(memory)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"drgn cannot read {memory}: {error}; write it again") from error
    return program


def _symbols_of(vmlinux: Path) -> SymbolTable:
    """The symbols of ``vmlinux`` at their linked addresses."""
    program = drgn.Program()
    program.extra_module(str(vmlinux), create=True).try_file(vmlinux, force=True)

    def find(name: str) -> tuple[int, int]:
        symbol = program.symbol(name)
        return symbol.address, symbol.size

    return find


def _expect_build_id(program: drgn.Program, kernel: ElfFile, memory: Path) -> None:
    for _ in program.loaded_modules():
        break
    found, note = program.main_module().build_id, kernel.build_id
    if found is not None and note is not None and found != note.content:
        raise SnapshotError(
            f"{memory} is the memory of the kernel with the build-id {found.hex()}, not of {kernel.path} "
            f"({note.content.hex()}); give the vmlinux of that kernel"
        )
