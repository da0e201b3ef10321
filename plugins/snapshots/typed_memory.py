# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory of a kernel whose types are known: its variables, and slab pages of caches with one type."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice

import drgn

from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.plugins.snapshots.direct_map import DirectMap
from linesmith.plugins.snapshots.pointed import WORD_BYTES, TypedMemory
from linesmith.plugins.snapshots.pointees import Pointees
from linesmith.plugins.snapshots.variables import Variables

_PIECE_BYTES = 1 << 21
# Reading a slab page takes about 0.1 ms; a guest of 1 GiB has some thousands.
_MOST_SLABS = 100_000


class KernelMemory:
    """Memory as a source of typed pointers; what the dump does not hold is left out."""

    def __init__(self, program: drgn.Program, variables: Variables, direct: DirectMap) -> None:
        """Reads nothing yet."""
        self._program = program
        self._variables = variables
        self._direct = direct
        self._pointees = Pointees(program)

    def typed(self) -> Iterator[TypedMemory]:
        """All memory of known types."""
        yield from self.variables()
        for area in self.slab_areas():
            if len(area.types) == 1:
                yield self._objects(area)

    def variables(self) -> Iterator[TypedMemory]:
        """The memory of variables."""
        for section in self._variables.sections():
            for address in section[::_PIECE_BYTES]:
                content = _present(self._program, address, min(_PIECE_BYTES, section.stop - address))
                yield from (TypedMemory(at, piece, self._variables.pointees) for at, piece in content)

    def variable(self, address: int) -> str | None:
        """The name of the variable of the image at ``address``."""
        return self._variables.name_at(address)

    def is_pointer_variable(self, address: int) -> bool:
        """Whether the word at ``address`` is a variable of its own, no part of a record."""
        return self._variables.is_whole(address, WORD_BYTES)

    def record(self, start: int, size: int, record: str) -> TypedMemory:
        """One object of a record known otherwise."""
        return self._objects(ObjectArea(ObjectKind.SLAB, "", start, size, size, types=(record,)))

    def slab_areas(self) -> tuple[ObjectArea, ...]:
        """Every slab page, of large machines the first hundred thousand."""
        return self._slab_areas

    def pointer_to(self, area: ObjectArea, start: int) -> int:
        """The word that points to the object at ``start``: pointers to per-CPU memory are the same for all CPUs."""
        return start if area.cpu is None else self._variables.per_cpu_pointer(start, area.cpu)

    @cached_property
    def _slab_areas(self) -> tuple[ObjectArea, ...]:
        return tuple(islice(self._direct.slab_areas(), _MOST_SLABS))

    def _objects(self, area: ObjectArea) -> TypedMemory:
        record = area.types[0]

        def declared(address: int) -> tuple[str, ...]:
            return self._pointees.of_record(record, (address - area.address) % area.stride)

        return TypedMemory(area.address, self._program.read(area.address, area.end - area.address), declared)


def _present(program: drgn.Program, address: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The parts of a range that can be read; the kernel gives back pages of its image after boot."""
    page = program["PAGE_SIZE"].value_()
    try:
        yield address, program.read(address, size)
    except drgn.FaultError:
        if size > page:
            for start in range(address, address + size, page):
                yield from _present(program, start, min(page, address + size - start))
