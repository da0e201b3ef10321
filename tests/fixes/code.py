# SPDX-License-Identifier: GPL-2.0-or-later
"""Which instruction of a function makes an access of a scenario, by the access map of the ELF file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fixes.execution import Spot
from fixes.scenario import Kind, Scenario, Touch

from linesmith.analyzer.access import AccessMap, accesses_in
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.errors import FunctionNotFound
from linesmith.analyzer.model import AccessKind, CodeAccess, Layout

# An update by one instruction is atomic or not depending on text that is patched at boot.
_FITS = {
    Kind.LOAD: (AccessKind.READ, AccessKind.READ_WRITE, AccessKind.ATOMIC),
    Kind.STORE: (AccessKind.WRITE, AccessKind.READ_WRITE, AccessKind.ATOMIC),
    Kind.ATOMIC: (AccessKind.ATOMIC, AccessKind.READ_WRITE, AccessKind.WRITE),
}

Key = tuple[str, str, Kind]


@dataclass(frozen=True, slots=True)
class Instructions:
    """Addresses of instructions by function, member and kind; ``unseen`` are accesses that the code does not show.

    Those have the address of some instruction of the function; 0 when there is no such function.
    """

    code: Mapping[Key, int]
    unseen: tuple[str, ...]


def instructions(
    scenario: Scenario, spots: Mapping[str, Spot], layout: Layout, containment: Containment, accesses: AccessMap
) -> Instructions:
    """The instructions that make the accesses of the scenario, whose members are at ``spots`` of ``layout``."""
    code: dict[Key, int] = {}
    unseen: list[str] = []
    for touch in dict.fromkeys(touch for role in scenario.roles for touch in role.every):
        key = touch.function, touch.member, touch.kind
        rows = _rows(touch.function, accesses)
        names = frozenset(_names(spots[touch.member].offset, layout, containment))
        found = _instruction(touch, rows, names)
        if found is None and key not in code:
            unseen.append(f"{touch.function}: no {touch.kind} of {touch.member} seen in its code")
        code[key] = found if found is not None else (rows[0].address if rows else 0)
    return Instructions(code, tuple(unseen))


def _instruction(touch: Touch, rows: tuple[CodeAccess, ...], names: frozenset[tuple[str, int]]) -> int | None:
    touching = [row for row in rows if any(_touches(row, *name) for name in names)]
    return next((row.address for wanted in _FITS[touch.kind] for row in touching if row.kind is wanted), None)


def _rows(function: str, accesses: AccessMap) -> tuple[CodeAccess, ...]:
    """What the functions of that name and their clones touch; of inlined ones nothing."""
    try:
        found = accesses_in(function, accesses)
    except FunctionNotFound:
        return ()
    return tuple(row for one in found if one.low is not None for row in one.accesses)


def _names(offset: int, layout: Layout, containment: Containment) -> Iterator[tuple[str, int]]:
    """What code may call the byte: each record around it with the byte's offset there, as pairs."""
    layouts = containment.layouts
    for place in ((layout.id, 0), *((one.container, one.offset) for one in containment.places(layout.id))):
        yield layouts.by_id(place[0]).name, offset + place[1]
    for leaf in containment.leaves(layout.id, offset):
        for entered in leaf.entered:
            yield layouts.by_id(entered.record).name, offset - entered.offset


def _touches(row: CodeAccess, record: str, offset: int) -> bool:
    if row.type is None or row.offset is None or not row.outcome.resolved:
        return False
    return row.type.split()[-1] == record and row.offset <= offset < row.offset + max(row.width, 1)
