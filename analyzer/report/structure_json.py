# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of structural advice; sizes in bytes, shares from -1 to 1, counts are samples or misses."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from linesmith.analyzer.model import (
    Accessor,
    ElfIdentity,
    Gain,
    Layout,
    MemoryUse,
    StructuralAdvice,
)
from linesmith.analyzer.report.slab import SlabAnswer

SCHEMA_VERSION = 1


class ReshapedDocument(msgspec.Struct, frozen=True):
    """A record as it is, or as it would be; ``members`` are name, offset and size."""

    title: str
    size: int
    alignment: int
    members: tuple[tuple[str, int, int], ...]


class StructureDocument(msgspec.Struct, frozen=True):
    """One piece of advice; ``memory_before`` and ``memory_after`` have a row for each object that is allocated."""

    kind: str
    type: str
    members: tuple[str, ...]
    sentence: str
    reasons: tuple[str, ...]
    accessors: tuple[Accessor, ...]
    gains: tuple[Gain, ...]
    before: tuple[ReshapedDocument, ...]
    after: tuple[ReshapedDocument, ...]
    memory_before: tuple[MemoryUse, ...]
    memory_after: tuple[MemoryUse, ...]
    notes: tuple[str, ...]


class MachineDocument(msgspec.Struct, frozen=True):
    """What memory was computed for."""

    release: str
    release_known: bool
    cpus: int
    page_bytes: int


class ChangeDocument(msgspec.Struct, frozen=True):
    """What ``linesmith slab --pull-in``, ``--push-out`` and ``--shrink`` write with ``--format json``."""

    schema: int
    elf: ElfIdentity
    machine: MachineDocument
    without: tuple[str, ...]
    cautions: tuple[str, ...]
    advice: tuple[StructureDocument, ...]


def render_json(
    advice: Sequence[StructuralAdvice],
    base: SlabAnswer,
    left_out: Sequence[str] = (),
) -> str:
    """The answer as one indented JSON document that ends in a newline; ``base`` is the answer without its types."""
    machine = base.machine
    release = f"{machine.release[0]}.{machine.release[1]}"
    computed_for = MachineDocument(release, base.release_known, machine.cpus, machine.page_bytes)
    told = tuple(map(advice_document, advice))
    document = ChangeDocument(SCHEMA_VERSION, base.elf, computed_for, tuple(left_out), base.cautions, told)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(ChangeDocument)


def advice_document(one: StructuralAdvice) -> StructureDocument:
    """The advice as a document."""
    return StructureDocument(
        one.kind.value,
        one.type,
        one.members,
        one.sentence,
        one.reasons,
        one.accessors,
        one.gains,
        tuple(map(_layout, one.before)),
        tuple(map(_layout, one.after)),
        one.memory_before,
        one.memory_after,
        one.notes,
    )


def _layout(layout: Layout) -> ReshapedDocument:
    alignment = max(layout.natural_alignment, layout.alignment or 1)
    members = tuple((member.name, member.offset, member.size) for member in layout.members)
    return ReshapedDocument(layout.title, layout.size, alignment, members)
