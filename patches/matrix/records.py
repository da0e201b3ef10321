# SPDX-License-Identifier: GPL-2.0-or-later
"""The record of a change and those that embed it, compiled under one configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CompiledRecord, Layout, Residual
from linesmith.patches.declaration import recorded_file
from linesmith.patches.matrix.asked import Change
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.probing import probes, tables
from linesmith.patches.matrix.sizes import Tables, Target, compared, find, residual
from linesmith.patches.matrix.workers import each

# Records of which no more is told than that they are; one compile takes about a second.
MOST_HOLDERS = 48


@dataclass(frozen=True, slots=True)
class Measured:
    """What a compiler made of the records; ``remarks`` say which could not be had, and why."""

    records: tuple[CompiledRecord, ...]
    residuals: tuple[Residual, ...]
    remarks: tuple[str, ...]


def holders_of(layouts: Layouts, name: str) -> tuple[Layout, ...]:
    """The named records of an ELF file that embed the record ``name`` by value, those of most units first."""
    contained = Containment(layouts)
    found = {one.id: one for layout in layouts.variants(name) for one in contained.holders(layout.id) if one.file}
    return tuple(sorted(found.values(), key=lambda one: (-one.units, one.name, one.id)))


def measured(environment: Environment, change: Change) -> Measured:
    """Compile and compare; raises ``VerificationFailed`` where the record itself cannot be compiled."""
    build, target = environment.build, Target(environment.line_bytes, environment.slabs)
    found = tables(build, change, probes(build, change.file, change.title, change.unit))
    own = compared(found, change.record, target, holder=False, file=change.file)
    if own is None:
        raise VerificationFailed(f"the compiled {change.file} has no record {change.record}")
    holders, remarks = _holders(environment, change, found, target)
    others = (compared(found, name, target, holder=False) for name in change.others)
    pairs = tuple((pair, residual(pair, found, change.record, change.file)) for pair in change.pairs)
    absent = tuple(dict.fromkeys(f"{pair.first} or {pair.second} is no member" for pair, seen in pairs if seen is None))
    records = (own, *(one for one in others if one), *holders)
    return Measured(records, tuple(seen for _, seen in pairs if seen), (*absent, *remarks))


def _holders(
    environment: Environment, change: Change, found: Tables, target: Target
) -> tuple[tuple[CompiledRecord, ...], tuple[str, ...]]:
    """Those that the unit of the record shows, and those of the ELF file, compiled where they are declared."""
    names = _seen(found, change)
    wanted = [one for one in change.holders if one.name not in names]
    names = names[:MOST_HOLDERS]
    room = MOST_HOLDERS - len(names)
    here = [compared(found, name, target, holder=True) for name in names]
    groups = _by_file(environment, wanted[:room])
    elsewhere = each(lambda group: _compiled(environment, change, group, target), groups)
    records = [one for one in (*here, *(record for group, _ in elsewhere for record in group)) if one]
    left = len(wanted) - room if len(wanted) > room else 0
    remarks = [remark for _, remark in elsewhere if remark]
    if left:
        remarks.append(f"{left} more records that embed {change.record} were not compiled")
    return tuple(dict.fromkeys(records)), tuple(remarks)


def _seen(found: Tables, change: Change) -> list[str]:
    layout = find(found.before, change.record, change.file)
    holders = Containment(found.before).holders(layout.id) if layout else ()
    return sorted({one.name for one in holders})


def _by_file(environment: Environment, holders: Sequence[Layout]) -> list[tuple[str, list[Layout]]]:
    groups: dict[str, list[Layout]] = {}
    for one in holders:
        file = recorded_file(environment.build.tree, one.file)
        if file is not None:
            groups.setdefault(file, []).append(one)
    return list(groups.items())


def _compiled(
    environment: Environment, change: Change, group: tuple[str, list[Layout]], target: Target
) -> tuple[list[CompiledRecord], str]:
    """The holders that one file declares; why not, where the file cannot be compiled."""
    file, holders = group
    try:
        first = holders[0]
        found = tables(environment.build, change, probes(environment.build, file, first.title, first.unit))
    except VerificationFailed as failed:
        names = ", ".join(one.name for one in holders)
        return [], f"{names} not compiled: {failed}"
    return list(_present(found, holders, target, file)), ""


def _present(found: Tables, holders: Sequence[Layout], target: Target, file: str) -> Iterator[CompiledRecord]:
    for one in holders:
        record = compared(found, one.name, target, holder=True, file=file)
        if record is not None:
            yield record
