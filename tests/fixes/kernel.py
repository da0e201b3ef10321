# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel that scenarios are tried on: all that is read from its ELF file once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fixes.execution import MOST_BYTES, Spot
from fixes.scenario import Scenario, ScenarioError

from linesmith.analyzer.access import AccessMap, read_accesses
from linesmith.analyzer.addresses.elf_symbols import ElfSymbols, read_symbols
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.dwarf import Reading, read_layouts
from linesmith.analyzer.geometry import flatten, leaf_at
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Leaf
from linesmith.analyzer.slab import Kernel, machine_of, release_of


@dataclass(frozen=True, slots=True)
class RealKernel:
    """An ELF file with DWARF, and what follows from it; ``release`` is that of its banner, as ``6.1``."""

    elf: Path
    release: str
    reading: Reading
    accesses: AccessMap
    containment: Containment
    symbols: ElfSymbols
    slabs: Kernel

    @property
    def layouts(self) -> Layouts:
        """The records of the file."""
        return self.reading.layouts

    def layout(self, name: str) -> Layout:
        """The record called so that most code uses: the largest; raises ``ScenarioError``."""
        found = self.layouts.variants(name)
        if not found:
            raise ScenarioError(f"there is no record {name} in {self.elf.name}")
        return max(found, key=lambda layout: (layout.size, -layout.id))


def real_kernel(elf: Path) -> RealKernel:
    """All of ``elf`` that scenarios need; raises what reading an ELF file raises, and ``ScenarioError``."""
    reading = read_layouts(elf)
    version = release_of(elf)
    if version is None:
        raise ScenarioError(f"{elf} has no banner of a kernel")
    machine = machine_of(reading.identity.machine, version)
    return RealKernel(
        elf,
        f"{version[0]}.{version[1]}",
        reading,
        read_accesses(elf).accesses,
        Containment(reading.layouts),
        read_symbols(reading.identity),
        Kernel(machine),
    )


def spots(scenario: Scenario, layout: Layout, layouts: Layouts) -> dict[str, Spot]:
    """Where the members of the scenario's accesses lie; raises ``ScenarioError`` for one that is not there."""
    leaves = {leaf.path: leaf for leaf in reversed(flatten(layout, layouts))}
    found: dict[str, Spot] = {}
    for path in dict.fromkeys(touch.member for role in scenario.roles for touch in role.every):
        leaf = _word(path, leaves) or next(_elements(path, layout, layouts), None)
        if leaf is None:
            near = [name for name in leaves if name.startswith(path.split(".")[0])] or list(leaves)
            raise ScenarioError(f"{layout.title} has no {path}; it has {', '.join(near)}")
        found[path] = Spot(path, leaf.offset, min(max(leaf.size, 1), MOST_BYTES))
    return found


def _word(path: str, leaves: Mapping[str, Leaf]) -> Leaf | None:
    """The leaf of that path, or the word that a longer path looks into (``count.counter``)."""
    while path not in leaves and "." in path:
        path = path.rpartition(".")[0]
    return leaves.get(path)


def _elements(path: str, layout: Layout, layouts: Layouts) -> Iterator[Leaf]:
    """The element of an array that is called so."""
    if "[" not in path:
        return
    last = None
    for offset in range(layout.size):
        leaf = leaf_at(layout, layouts, offset)
        if leaf is not None and leaf.offset != last:
            last = leaf.offset
            if leaf.path == path:
                yield leaf
