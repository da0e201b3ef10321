# SPDX-License-Identifier: GPL-2.0-or-later
"""A file with code as it ran: the facts of the file, moved to where it was loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import AccessKind, CodeAccess
from linesmith.plugins.machines.elf_image import opened


@dataclass(frozen=True)
class Image:
    """``slide`` is how far the loader moved code and data from where the file has them; bytes."""

    elf: Path
    slide: int

    @cached_property
    def build_id(self) -> bytes:
        """As the file has it."""
        return bytes.fromhex(dwarf.identify(self.elf).build_id or "")

    def symbol(self, name: str) -> int:
        """The address of a function or variable, as the file has it."""
        if name not in self._symbols:
            raise LookupError(f"{name} is no symbol of {self.elf}")
        return self._symbols[name]

    def code(self, function: str, into: int) -> int:
        """An instruction as it ran, so many bytes into a function."""
        return self.symbol(function) + into + self.slide

    def offset(self, type_name: str, path: str) -> int:
        """Bytes from the start of a record to a member, ``vfs_inode.i_data.i_mmap``."""
        layouts = self._layouts
        layout = layouts.variants(type_name)[0]
        offset = 0
        for name in path.split("."):
            member = next(one for one in layout.members if one.name == name)
            offset += member.offset
            if member.record is not None:
                layout = layouts.by_id(member.record)
        return offset

    def size(self, type_name: str) -> int:
        """Bytes of a record."""
        return self._layouts.variants(type_name)[0].size

    def touching(
        self, function: str, type_title: str, path: str, kinds: Sequence[AccessKind]
    ) -> tuple[CodeAccess, ...]:
        """The accesses of a function to a member; ``path`` may end within its members. Never empty."""
        found = tuple(
            one
            for code in accesses_in(function, self._accesses)
            for one in code.accesses
            if one.outcome.resolved and one.kind in kinds and one.type == type_title and _within(one.path, path)
        )
        if not found:
            raise LookupError(f"{function} does not touch {type_title}.{path} as {kinds}")
        return found

    @cached_property
    def _layouts(self) -> Layouts:
        return dwarf.read_layouts(self.elf).layouts

    @cached_property
    def _accesses(self) -> AccessMap:
        return read_accesses(self.elf).accesses

    @cached_property
    def _symbols(self) -> Mapping[str, int]:
        with opened(self.elf) as file:
            code, data = file.symbols().split()
        return {one.name: one.address for one in (*data, *code)}


def _within(path: str, wanted: str) -> bool:
    return path == wanted or path.startswith((f"{wanted}.", f"{wanted}["))
