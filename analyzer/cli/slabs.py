# SPDX-License-Identifier: GPL-2.0-or-later
"""From an ELF file and options to slabs: the machine, what it says of its caches, and the places of a type in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click

from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.report.slab import SlabAnswer
from linesmith.analyzer.selection import select
from linesmith.analyzer.slab import Asked, Kernel, TypeSlabs, machine_of, measured_caches, release_of, slab_places

_RELEASE = re.compile(r"(\d{1,3})\.(\d{1,3})(?:[.-].*)?\Z")


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line asks: types, what is known of their caches, the machine; ``kernel`` is a release."""

    types: tuple[str, ...]
    asked: Asked
    cpus: int
    page_bytes: int
    kernel: str | None = None
    slabinfo: Path | None = None


def slabs_of(elf: Path, question: Question) -> SlabAnswer:
    """The slabs of every type asked for; raises ``TypeNotFound``, ``SlabFactsError`` or ``ElfError``."""
    reading = load(elf)
    chosen = select(reading.layouts, question.types)
    release = _release(question.kernel) if question.kernel else release_of(elf)
    machine = machine_of(reading.identity.machine, release, question.cpus, question.page_bytes)
    measured = measured_caches(question.slabinfo, question.page_bytes) if question.slabinfo else {}
    kernel, containment = Kernel(machine, measured), Containment(reading.layouts)
    types = (TypeSlabs(layout, slab_places(layout, containment, kernel, question.asked)) for layout in chosen)
    return SlabAnswer(reading.identity, machine, release is not None, tuple(types), bool(measured))


def _release(text: str) -> tuple[int, int]:
    match = _RELEASE.match(text)
    if match is None:
        raise click.UsageError(f"--kernel {text} is no release; write it like 6.12")
    return int(match[1]), int(match[2])
