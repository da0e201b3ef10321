# SPDX-License-Identifier: GPL-2.0-or-later
"""Names for the code addresses of a program and its libraries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import ElfError
from linesmith.plugins.machines.elf_image import Segment, read_elf
from linesmith.plugins.machines.mappings import Mapping
from linesmith.plugins.machines.symbols import SymbolTable, code_symbols
from linesmith.plugins.recordings.profile import Place


@dataclass(frozen=True, slots=True)
class _File:
    segments: tuple[Segment, ...]
    code: SymbolTable

    def at(self, offset: int) -> str | None:
        """The function that the byte at ``offset`` of the file belongs to."""
        for one in self.segments:
            if one.is_loaded and one.offset <= offset < one.offset + one.file_bytes:
                found = self.code.at(one.address + offset - one.offset)
                return found.name if found else None
        return None


class ProgramNames:
    """Answers for every file that was mapped; a file is read when an address in it is first asked for."""

    def __init__(self, mappings: Sequence[Mapping]) -> None:
        self._mappings = sorted(mappings, key=lambda one: one.start)
        self._starts = [one.start for one in self._mappings]
        self._files: dict[str, _File] = {}

    def __call__(self, address: int) -> Place:
        """The function at an address, and the file that it is from."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address >= self._mappings[place].end:
            return Place()
        mapping = self._mappings[place]
        if mapping.path not in self._files:
            self._files[mapping.path] = _read(Path(mapping.path))
        function = self._files[mapping.path].at(address - mapping.start + mapping.offset)
        return Place(function, Path(mapping.path).name)


def _read(path: Path) -> _File:
    """A file that is no ELF file names nothing."""
    try:
        return _File(read_elf(path).segments, SymbolTable(code_symbols(path)))
    except ElfError:
        return _File((), SymbolTable(()))
