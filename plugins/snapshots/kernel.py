# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens the memory of a kernel together with its debug information as one drgn program.

drgn wants the kernel's own description of itself, VMCOREINFO (Documentation/admin-guide/kdump/vmcoreinfo.rst). The dump
of a guest has it as a note only when the guest wrote it to QEMU. It lies in memory all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import drgn

from linesmith.analyzer.base.elf import NOTE_HEADER, ElfFile
from linesmith.analyzer.base.errors import DebugInfoMissing, SnapshotError

LIVE = Path("/proc/kcore")

_ET_CORE = 4
# A note's owner, padded to four bytes: the text of VMCOREINFO stands behind it.
_OWNER = b"VMCOREINFO\0\0"
_MOST_BYTES = 64 * 1024


def opened(memory: Path, vmlinux: Path) -> drgn.Program:
    """The kernel ``vmlinux`` over its ``memory``: an ELF core file, or ``/proc/kcore`` for the running kernel.

    Raises ``SnapshotError`` when they do not belong together or cannot be read, ``DebugInfoMissing`` when
    ``vmlinux`` has no DWARF.
    """
    with MemoryFile(vmlinux) as kernel:
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
            f"cannot read the running kernel from {LIVE}: {error}; this needs root and CONFIG_PROC_KCORE"
        ) from error
    return program


def _dumped(memory: Path, kernel: MemoryFile) -> drgn.Program:
    with MemoryFile(memory) as dump:
        if dump.kind_and_machine[0] != _ET_CORE:
            raise SnapshotError(
                f"{memory} is an ELF file but not a memory dump; give a file written by dump-guest-memory"
            )
        text = vmcoreinfo_of(dump, kernel)
    program = drgn.Program(vmcoreinfo=text)
    try:
        program.set_core_dump(memory)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"drgn cannot read {memory}: {error}; write it again") from error
    return program


def _expect_build_id(program: drgn.Program, kernel: MemoryFile, memory: Path) -> None:
    # drgn creates the main module with the first one that is asked for.
    next(iter(program.loaded_modules()), None)
    found, note = program.main_module().build_id, kernel.build_id
    if found is not None and note is not None and found != note.content:
        raise SnapshotError(
            f"{memory} is the memory of the kernel with the build-id {found.hex()}, not of {kernel.path} "
            f"({note.content.hex()}); give the vmlinux of that kernel"
        )


class MemoryFile(ElfFile):
    """An ELF file with memory of a kernel, by physical address: a dump, or its vmlinux."""

    def __init__(self, path: Path) -> None:
        """Raises ``SnapshotError`` when ``path`` is no ELF file of this kind or its segments are cut off."""
        try:
            super().__init__(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is empty"
            raise SnapshotError(
                f"cannot read {path}: {reason}; name a memory dump and the vmlinux of its kernel"
            ) from error
        try:
            self._check()
        except BaseException:
            self.data.close()
            raise

    def _check(self) -> None:
        if not self.is_little_endian_64:
            raise SnapshotError(
                f"{self.path} is not a 64-bit little-endian ELF file; give a dump of QEMU's dump-guest-memory"
                " (format elf) and a vmlinux"
            )
        try:
            end = max((segment.offset + segment.file_bytes for segment in self.segments), default=0)
        except ValueError as error:
            raise SnapshotError(f"{self.path} is cut off within its program headers; write it again") from error
        if end > len(self.data):
            cut = f"{self.path} is cut off: it has {len(self.data)} of {end} bytes"
            raise SnapshotError(f"{cut}; write it again (is the disk full?)")

    def find(self, pattern: bytes) -> Iterator[int]:
        """Physical addresses at which the loaded segments hold ``pattern``."""
        for segment in self.loads:
            end = segment.offset + segment.file_bytes
            position = self.data.find(pattern, segment.offset, end)
            while position >= 0:
                yield position - segment.offset + segment.physical
                position = self.data.find(pattern, position + 1, end)

    def physical(self, address: int, size: int) -> bytes:
        """``size`` bytes of physical memory; raises ``SnapshotError`` when the dump does not hold them all."""
        for segment in self.loads:
            start = address - segment.physical
            if start >= 0 and start + size <= segment.file_bytes:
                return self.data[segment.offset + start : segment.offset + start + size]
        raise SnapshotError(f"{self.path} holds no memory at the physical address {address:#x}; dump the guest again")


def vmcoreinfo_of(dump: MemoryFile, vmlinux: MemoryFile) -> bytes:
    """The text of VMCOREINFO that belongs to the kernel ``vmlinux`` in the memory ``dump``.

    Raises ``SnapshotError`` when the memory is another kernel's.
    """
    if vmlinux.build_id is None:
        raise SnapshotError(f"{vmlinux.path} has no build-id; give the vmlinux of the dumped kernel, with its build-id")
    build_id = vmlinux.build_id.content.hex()
    others = []
    for text in _texts_in(dump):
        found = re.search(rb"^BUILD-ID=(.*)$", text, re.MULTILINE)
        if found is None or found[1] == build_id.encode():
            return text
        others.append(found[1].decode("ascii", "replace"))
    if others:
        raise SnapshotError(
            f"{dump.path} is the memory of the kernel with the build-id {others[0]}, not of {vmlinux.path} "
            f"({build_id}); give the vmlinux of the dumped kernel"
        )
    raise SnapshotError(
        f"{dump.path} has no VMCOREINFO, which a running kernel with CONFIG_KEXEC or CONFIG_PROC_KCORE has; dump the "
        "memory of such a kernel"
    )


def _texts_in(dump: MemoryFile) -> Iterator[bytes]:
    """VMCOREINFO in the notes of the file itself, then what lies in the memory."""
    yield from (note.content for note in dump.notes() if note.owner == b"VMCOREINFO")
    for address in dump.find(_OWNER):
        owner_size, size, kind = NOTE_HEADER.unpack(dump.physical(address - NOTE_HEADER.size, NOTE_HEADER.size))
        if (owner_size, kind) == (len("VMCOREINFO") + 1, 0) and 0 < size <= _MOST_BYTES:
            text = dump.physical(address + len(_OWNER), size)
            if text.startswith(b"OSRELEASE="):
                yield text
