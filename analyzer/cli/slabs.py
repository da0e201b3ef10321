# SPDX-License-Identifier: GPL-2.0-or-later
"""From an ELF file and options to slabs: the machine, what it says of its caches, and the places of a type in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.cli.kernels import Running, kernel_of
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.report.slab import SlabAnswer
from linesmith.analyzer.selection import select
from linesmith.analyzer.slab import Asked, TypeSlabs, slab_places


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line asks: types, what is known of their caches, the machine."""

    types: tuple[str, ...]
    asked: Asked
    running: Running


def slabs_of(elf: Path, question: Question) -> SlabAnswer:
    """The slabs of every type asked for; raises ``TypeNotFound``, ``SlabFactsError`` or ``ElfError``."""
    reading = load(elf)
    chosen = select(reading.layouts, question.types)
    known = kernel_of(elf, reading.identity, question.running)
    kernel, containment = known.kernel, Containment(reading.layouts)
    types = (TypeSlabs(layout, slab_places(layout, containment, kernel, question.asked)) for layout in chosen)
    return SlabAnswer(reading.identity, kernel.machine, known.named, tuple(types), bool(kernel.measured))
