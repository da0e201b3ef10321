# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map as JSON; docs/schema-access.md documents it and a test keeps the two equal.

Addresses are hexadecimal text, offsets and widths are bytes, shares run from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from linesmith.analyzer.model import (
    AccessCounts,
    AccessKind,
    AccessOutcome,
    AccessSummary,
    AddressAccesses,
    CodeAccess,
    ElfIdentity,
    Embedding,
    FunctionAccesses,
    Layout,
    MemberAccesses,
    TypeAccesses,
)

SCHEMA_VERSION = 1


class AccessView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One access by one instruction, ``into`` bytes into ``function``; ``width`` 0 is not known."""

    address: str
    function: str
    into: int | None
    kind: AccessKind
    width: int
    outcome: AccessOutcome
    inlined: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None
    type: str | None = None
    offset: int | None = None
    path: str = ""
    variable: str | None = None


class TypeAccessesView(msgspec.Struct, frozen=True):
    """Who touches the members of one type; ``functions`` counts them."""

    name: str
    title: str
    size: int
    file: str | None
    line: int | None
    counts: AccessCounts
    functions: int
    embeddings: tuple[Embedding, ...]
    elsewhere: AccessCounts
    members: tuple[MemberAccesses, ...]


class FunctionAccessesView(msgspec.Struct, frozen=True):
    """What one function touches, by address; without addresses it exists inlined only."""

    function: str
    low: str | None
    high: str | None
    accesses: tuple[AccessView, ...]


class AddressAccessesView(msgspec.Struct, frozen=True):
    """What one instruction touches, or the last one before it that touches anything."""

    address: str
    function: str
    into: int | None
    accesses: tuple[AccessView, ...]
    before: tuple[AccessView, ...]


class SummaryView(msgspec.Struct, frozen=True):
    """How all accesses ended; ``coverage`` is ``resolved`` / ``resolvable``."""

    accesses: int
    functions: int
    types: int
    kinds: AccessCounts
    outcomes: dict[AccessOutcome, int]
    resolved: int
    resolvable: int
    coverage: float


class AccessDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """What ``linesmith access --format json`` writes: beside ``elf`` only what was asked for."""

    schema: int
    elf: ElfIdentity
    summary: SummaryView | None = None
    types: tuple[TypeAccessesView, ...] | None = None
    functions: tuple[FunctionAccessesView, ...] | None = None
    addresses: tuple[AddressAccessesView, ...] | None = None


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(AccessDocument)


def render_summary(found: AccessSummary, elf: ElfIdentity) -> str:
    """The document without any question."""
    view = SummaryView(
        found.accesses,
        found.functions,
        found.types,
        found.kinds,
        dict(found.outcomes),
        found.resolved,
        found.resolvable,
        found.coverage,
    )
    return _text(AccessDocument(SCHEMA_VERSION, elf, summary=view))


def render_types(found: Sequence[tuple[Layout, TypeAccesses]], elf: ElfIdentity) -> str:
    """The document for ``--type``."""
    return _text(AccessDocument(SCHEMA_VERSION, elf, types=tuple(_type(layout, one) for layout, one in found)))


def render_functions(found: Sequence[FunctionAccesses], elf: ElfIdentity) -> str:
    """The document for ``--function``."""
    views = tuple(
        FunctionAccessesView(one.function, _address(one.low), _address(one.high), _accesses(one.accesses))
        for one in found
    )
    return _text(AccessDocument(SCHEMA_VERSION, elf, functions=views))


def render_addresses(found: Sequence[AddressAccesses], elf: ElfIdentity) -> str:
    """The document for ``--address``."""
    views = tuple(
        AddressAccessesView(f"{one.address:#x}", one.function, one.into, _accesses(one.accesses), _accesses(one.before))
        for one in found
    )
    return _text(AccessDocument(SCHEMA_VERSION, elf, addresses=views))


def _text(document: AccessDocument) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _type(layout: Layout, found: TypeAccesses) -> TypeAccessesView:
    return TypeAccessesView(
        name=layout.name,
        title=layout.title,
        size=layout.size,
        file=layout.file,
        line=layout.line,
        counts=found.counts,
        functions=found.functions,
        embeddings=found.embeddings,
        elsewhere=found.elsewhere,
        members=found.members,
    )


def _accesses(found: Sequence[CodeAccess]) -> tuple[AccessView, ...]:
    return tuple(
        AccessView(
            f"{one.address:#x}",
            one.function,
            one.into,
            one.kind,
            one.width,
            one.outcome,
            one.inlined,
            one.file,
            one.line,
            one.type,
            one.offset,
            one.path,
            one.variable,
        )
        for one in found
    )


def _address(address: int | None) -> str | None:
    return None if address is None else f"{address:#x}"
