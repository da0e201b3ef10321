# SPDX-License-Identifier: GPL-2.0-or-later
"""The record of a change and those that embed it, compiled under one configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from linesmith.analyzer.containment import Containment
from linesmith.analyzer.errors import TreeError, VerificationFailed
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CompiledRecord, Layout, Residual
from linesmith.patches.declaration import recorded_file
from linesmith.patches.matrix.asked import Change
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.probing import tables
from linesmith.patches.matrix.sizes import Role, Tables, Target, compared, find, residual, stepped
from linesmith.patches.matrix.workers import each
from linesmith.patches.preparation import Progress
from linesmith.patches.units import probes

# Records of which no more is told than that they are; one compile takes about a second.
MOST_HOLDERS = 48


@dataclass(frozen=True, slots=True)
class Measured:
    """What a compiler made of the records; ``left_out`` says which could not be had, and why."""

    records: tuple[CompiledRecord, ...]
    residuals: tuple[Residual, ...]
    remarks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def holders_of(layouts: Layouts, name: str) -> tuple[Layout, ...]:
    """The named records of an ELF file that embed the record ``name`` by value, those of most units first."""
    contained = Containment(layouts)
    found = {one.id: one for layout in layouts.variants(name) for one in contained.holders(layout.id) if one.file}
    return tuple(sorted(found.values(), key=lambda one: (-one.units, one.name, one.id)))


def measured(environment: Environment, change: Change, progress: Progress) -> Measured:
    """Compile and compare; raises ``VerificationFailed`` where the record itself cannot be compiled."""
    build, target = environment.build, Target(environment.line_bytes, environment.slabs)
    found = tables(build, change, probes(build, change.file, change.title, change.unit))
    names = _seen(found, change)
    role = Role.HELD if names or change.holders else Role.ALONE
    own = compared(found, change.record, target, role, change.file)
    if own is None:
        raise VerificationFailed(f"the compiled {change.file} has no record {change.record}")
    shown = (compared(found, name, target, Role.HOLDER) for name in names[:MOST_HOLDERS])
    holders, left_out = _elsewhere(environment, change, names, progress)
    others = (compared(found, name, target, Role.ALONE) for name in change.others)
    pairs = tuple((pair, residual(pair, found, change.record, change.file, change.granules)) for pair in change.pairs)
    absent = tuple(dict.fromkeys(f"{pair.first} or {pair.second} is no member" for pair, seen in pairs if seen is None))
    remarks = () if _moves(found, change) else (f"{change.title} is laid out as before",)
    own = stepped(own, change.granules)
    records = dict.fromkeys(one for one in (own, *others, *shown, *holders) if one)
    return Measured(tuple(records), tuple(seen for _, seen in pairs if seen), remarks, (*absent, *left_out))


def _moves(found: Tables, change: Change) -> bool:
    """Whether a member lies elsewhere than before; type ids are of one table each, so only what is named counts."""
    sides = [find(layouts, change.record, change.file) for layouts in (found.before, found.after)]
    told = [[(one.name, one.declarator, one.offset, one.bit_offset) for one in side.members] for side in sides if side]
    return len(told) != len(sides) or told[0] != told[1]


@dataclass(frozen=True, slots=True)
class _Declaring:
    """A file of the tree with the holders that it declares."""

    file: str
    holders: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    """Holders that were compiled; this configuration does not have those ``absent``. ``failed`` is the error."""

    records: tuple[CompiledRecord, ...]
    absent: tuple[str, ...] = ()
    failed: str = ""


def _elsewhere(
    environment: Environment, change: Change, names: Sequence[str], progress: Progress
) -> tuple[list[CompiledRecord], tuple[str, ...]]:
    """The holders of the ELF file that are not among ``names``, compiled where they are declared, and remarks."""
    target = Target(environment.line_bytes, environment.slabs)
    wanted = [one for one in change.holders if one.name not in names]
    room = max(MOST_HOLDERS - len(names), 0)
    declaring = _by_file(environment, wanted[:room])
    built, unbuilt = _built(environment, declaring, progress)
    elsewhere = each(partial(_compiled, environment, change, target), built, lambda _: None)
    records = [record for one in elsewhere for record in one.records]
    absent = sorted({*unbuilt, *(name for one in elsewhere for name in one.absent)})
    remarks = [one.failed for one in elsewhere if one.failed]
    if absent:
        remarks.append(f"not in this configuration: {', '.join(absent)}")
    if (left := len(names) + len(wanted) - MOST_HOLDERS) > 0:
        remarks.append(f"{left} more records that embed {change.record} were not compiled")
    return records, tuple(remarks)


def _seen(found: Tables, change: Change) -> list[str]:
    layout = find(found.before, change.record, change.file)
    holders = Containment(found.before).holders(layout.id) if layout else ()
    return sorted({one.name for one in holders})


def _by_file(environment: Environment, holders: Sequence[Layout]) -> list[_Declaring]:
    groups: dict[str, list[Layout]] = {}
    for one in holders:
        file = recorded_file(environment.build.tree, one.file)
        if file is not None:
            groups.setdefault(file, []).append(one)
    return [_Declaring(file, tuple(declared)) for file, declared in groups.items()]


def _built(
    environment: Environment, declaring: Sequence[_Declaring], progress: Progress
) -> tuple[list[_Declaring], list[str]]:
    """What this build can compile, and the names of the holders that stand in units which it does not have."""
    units = _unit_names(environment, progress) if any(one.file.endswith(".c") for one in declaring) else frozenset()
    out = [one for one in declaring if units and one.file.endswith(".c") and one.file not in units]
    return [one for one in declaring if one not in out], [holder.name for one in out for holder in one.holders]


def _unit_names(environment: Environment, progress: Progress) -> frozenset[str]:
    """The units of the build; none where that is not known."""
    try:
        return frozenset(environment.units(progress).names)
    except TreeError:
        return frozenset()


def _compiled(environment: Environment, change: Change, target: Target, declaring: _Declaring) -> _Held:
    file, holders = declaring.file, declaring.holders
    names = dict.fromkeys(one.name for one in holders)
    try:
        found = tables(environment.build, change, probes(environment.build, file, "", holders[0].unit))
    except VerificationFailed as failed:
        return _Held((), failed=f"{', '.join(names)} not compiled: {failed}")
    records = {name: compared(found, name, target, Role.HOLDER, file) for name in names}
    return _Held(
        tuple(record for record in records.values() if record),
        tuple(name for name, record in records.items() if record is None),
    )
