# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for the code addresses of a guest's kernel, and of a program with its libraries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.elf import Segment
from linesmith.analyzer.base.errors import ElfError, NotRecorded
from linesmith.plugins.machines.elf_image import SymbolTable, code_symbols, kallsyms_symbols, read_elf
from linesmith.plugins.machines.user import MappedRange
from linesmith.plugins.recording.profile import CodeName

_KERNEL_HALF = 1 << 63


def address_of(function: str, symbols: SymbolTable, file: Path) -> str:
    """The address of a function of ``file``, hexadecimal as QEMU's plugin takes it; raises ``NotRecorded``."""
    address = symbols.address_of(function)
    if address is None:
        raise NotRecorded(f"{file} has no function {function}; name one that `nm` lists")
    return f"{address:x}"


@dataclass(frozen=True, slots=True)
class KernelNames:
    """Symbols of a kernel; ``remarks`` say what is missing."""

    code: SymbolTable
    object_file: str | None
    remarks: tuple[str, ...] = ()

    def __call__(self, address: int) -> CodeName:
        """The function at a kernel address; nothing for the addresses of programs."""
        found = self.code.at(address) if address >= _KERNEL_HALF else None
        return CodeName(found.name if found else None, self.object_file if found else None)


def of_vmlinux(vmlinux: Path) -> KernelNames:
    """Names from the ELF file of the kernel; raises ``ElfError``."""
    return KernelNames(SymbolTable(code_symbols(vmlinux)), vmlinux.name)


def of_kallsyms(text: str) -> KernelNames:
    """Names from the guest's own ``/proc/kallsyms``."""
    table = SymbolTable(kallsyms_symbols(text))
    missing = "no --vmlinux was given: functions are named by the guest's /proc/kallsyms, objects in memory are not"
    nothing = "no --vmlinux was given and the guest has no /proc/kallsyms: code is shown by address only"
    if not table.symbols:
        return KernelNames(table, None, (nothing,))
    return KernelNames(table, "vmlinux", (missing,))


@dataclass(frozen=True, slots=True)
class _NamedFile:
    """The code symbols of a mapped file; a file that is no ELF file names nothing."""

    segments: tuple[Segment, ...]
    code: SymbolTable

    @classmethod
    def at_path(cls, path: Path) -> _NamedFile:
        """Read the file."""
        try:
            return cls(read_elf(path).segments, SymbolTable(code_symbols(path)))
        except ElfError:
            return cls((), SymbolTable(()))

    def at(self, offset: int) -> str | None:
        """The function that the byte at ``offset`` of the file belongs to."""
        for one in self.segments:
            if one.is_loaded and one.offset <= offset < one.offset + one.file_bytes:
                found = self.code.at(one.address + offset - one.offset)
                return found.name if found else None
        return None


class ProgramNames:
    """Answers for every file that was mapped; a file is read when an address in it is first asked for.

    ``program`` is the file whose code gets the addresses that it has there, ``moved`` bytes below.
    """

    def __init__(self, mappings: Sequence[MappedRange], program: Path, moved: int) -> None:
        self._program, self._moved = str(program), moved
        self._mappings = sorted(mappings, key=lambda one: one.start)
        self._starts = [one.start for one in self._mappings]
        self._files: dict[str, _NamedFile] = {}

    def __call__(self, address: int) -> CodeName:
        """The function at an address, and the file that it is from."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._mappings[place].end:
            return CodeName()
        mapping = self._mappings[place]
        if mapping.path not in self._files:
            self._files[mapping.path] = _NamedFile.at_path(Path(mapping.path))
        function = self._files[mapping.path].at(address - mapping.start + mapping.offset)
        moved = self._moved if mapping.path == self._program else 0
        return CodeName(function, Path(mapping.path).name, moved)
