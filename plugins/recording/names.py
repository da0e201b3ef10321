# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for the code and data addresses of a guest's kernel, and of a program with its libraries.

Variables of a program are named by its symbols, with types by its DWARF where drgn is installed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.elf import ElfSymbol, Segment
from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.model import CACHE_LINE_BYTES, ObjectArea, ObjectKind, Profile
from linesmith.plugins.machines.elf_image import ElfImage, read_elf
from linesmith.plugins.machines.symbols import SymbolTable, code_symbols, data_symbols, kallsyms_symbols
from linesmith.plugins.machines.user import MappedRange, load_address
from linesmith.plugins.recording.profile import CodeName

_KERNEL_HALF = 1 << 63
# A mangled variable of internal linkage, and one in scopes. Source: the Itanium C++ ABI, 5.1.2 and 5.1.4.
_INTERNAL, _NESTED = "_ZL", "_ZN"
_LENGTH = re.compile(r"L?([1-9][0-9]{0,5})")
# What compilers call the namespace without a name, and what c++filt and gdb call it.
_UNNAMED = {"_GLOBAL__N_1": "(anonymous namespace)"}


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
    missing = "no --vmlinux was given: functions are named by the guest's /proc/kallsyms, variables and objects are not"
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
    """Answers for every file that was mapped; a file is read when an address in it is first asked for."""

    def __init__(self, mappings: Sequence[MappedRange]) -> None:
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
        return CodeName(function, Path(mapping.path).name)


def scoped_name(symbol: str) -> str:
    """``_ZN3app4jobsE`` as ``app::jobs``; the symbol itself where it is no plain name in named scopes."""
    if symbol.startswith(_INTERNAL):
        parts, rest = _parts(symbol[len(_INTERNAL) :])
        return parts[0] if len(parts) == 1 and not rest else symbol
    if symbol.startswith(_NESTED):
        parts, rest = _parts(symbol[len(_NESTED) :])
        return "::".join(_UNNAMED.get(part, part) for part in parts) if parts and rest == "E" else symbol
    return symbol


def _parts(mangled: str) -> tuple[list[str], str]:
    """Identifiers, each behind its length, and what is left behind them."""
    parts: list[str] = []
    while (length := _LENGTH.match(mangled)) and length.end() + int(length[1]) <= len(mangled):
        end = length.end() + int(length[1])
        parts.append(mangled[length.end() : end])
        mangled = mangled[end:]
    return parts, mangled


# The objects that a variable is made of, at the addresses where it is linked.
Typing = Callable[[ElfSymbol], tuple[ObjectArea, ...]]


def variables(profile: Profile, program: ElfImage, mappings: Sequence[MappedRange]) -> tuple[ObjectArea, ...]:
    """The program's own variables on the profile's lines, by address; without drgn their types are not told."""
    start = load_address(mappings, program.path)
    if start is None:
        return ()
    moved = start - program.base
    typing = _typing(program.path)
    met = sorted(_met(profile, program.path, moved), key=lambda symbol: symbol.address)
    return tuple(replace(area, address=area.address + moved) for one in met for area in typing(one))


def _met(profile: Profile, path: Path, moved: int) -> Iterator[ElfSymbol]:
    """Symbols, where they are linked, that reach into a line of the profile; one an address."""
    lines = sorted(line.address for line in profile.lines if line.address is not None)
    line_bytes = profile.recording.line_bytes if profile.recording else CACHE_LINE_BYTES
    for one in {one.address: one for one in data_symbols(path) if one.size}.values():
        begin = one.address + moved
        first = bisect_right(lines, begin - line_bytes)
        if first < len(lines) and lines[first] < begin + one.size:
            yield one


def _typing(path: Path) -> Typing:
    """Answers of which records a variable is made, by DWARF."""
    try:
        import drgn

        from linesmith.plugins.snapshots.variables import shapes_of
    except ImportError:
        return _untyped
    program = drgn.Program(drgn.host_platform)
    program.extra_module(path.name, create=True).try_file(path)

    def typed(symbol: ElfSymbol) -> tuple[ObjectArea, ...]:
        name = scoped_name(symbol.name)
        try:
            variable = program.variable(name)
        except (LookupError, drgn.BadDataError):
            return _untyped(symbol)
        # A static variable shares its name with others; only the address tells which one DWARF describes.
        if variable.address_ != symbol.address:
            return _untyped(symbol)
        return tuple(
            ObjectArea(
                kind=ObjectKind.GLOBAL,
                name=f"{name}{shape.path}",
                address=symbol.address + shape.offset,
                size=shape.size,
                stride=shape.size,
                count=shape.count,
                types=shape.types,
            )
            for shape in shapes_of(variable.type_, symbol.size)
            if shape.size
        )

    return typed


def _untyped(symbol: ElfSymbol) -> tuple[ObjectArea, ...]:
    return (ObjectArea(ObjectKind.GLOBAL, scoped_name(symbol.name), symbol.address, symbol.size, symbol.size),)
