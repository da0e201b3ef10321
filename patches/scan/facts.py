# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scan says about the freedom of a record: each dependency that binds as a fact for proposals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from linesmith.analyzer.model import Dependency, DependencyKind, FactKind, SourceFact, SourceFacts, SourceScan

# Assertions about these markers say that a group holds its members, which rules of the layout know already.
_GROUP_MARK = "__cacheline_group_"
_FIRST = (DependencyKind.FIRST_MEMBER_CAST, DependencyKind.CONTAINER_OF_FIRST)
_RANGES = (DependencyKind.OFFSET_RANGE, DependencyKind.PARTIAL_COPY)
_FIXED = (DependencyKind.USER_ABI, DependencyKind.ASM_OFFSET, DependencyKind.BPF_CORE, DependencyKind.OFFSETOF)
_REASONS = {
    DependencyKind.FIRST_MEMBER_CAST: "code casts between it and the record",
    DependencyKind.CONTAINER_OF_FIRST: "code takes a null pointer to it for one to the record",
    DependencyKind.USER_ABI: "user space knows its offset",
    DependencyKind.ASM_OFFSET: "assembly knows its offset",
    DependencyKind.BPF_CORE: "a BPF program knows its offset",
    DependencyKind.OFFSETOF: "code counts with its offset",
    DependencyKind.OFFSET_RANGE: "code counts the bytes between offsets",
    DependencyKind.PARTIAL_COPY: "code copies or clears it together with its neighbours",
}


def facts_of(scans: Iterable[SourceScan]) -> SourceFacts:
    """The facts of all records of ``scans``."""
    return SourceFacts(tuple((scan.record, tuple(_facts(scan))) for scan in scans))


def _facts(scan: SourceScan) -> Iterator[SourceFact]:
    order = _order(scan)
    for one in scan.dependencies:
        if one.binds or one.kind is DependencyKind.RANDOMIZED:
            yield from _of_dependency(one, order)


def _order(scan: SourceScan) -> tuple[str, ...]:
    """The members in the order in which they are declared, those of anonymous records too."""
    known = max(scan.sources, key=lambda source: len(source.members), default=None)
    return tuple(dict.fromkeys(member.name for member in known.members if member.name)) if known else ()


def _of_dependency(one: Dependency, order: Sequence[str]) -> Iterator[SourceFact]:
    match one.kind:
        case DependencyKind.RANDOMIZED:
            yield SourceFact(FactKind.RANDOMIZED, (), "the compiler may shuffle its members", one.place)
        case DependencyKind.POSITIONAL:
            yield SourceFact(FactKind.POSITIONAL, one.members, "an initialiser gives it by position", one.place)
        case DependencyKind.ASSERTION:
            yield from _asserted(one)
        case kind if kind in _RANGES:
            yield _range(one, order)
        case kind if kind in _FIRST:
            yield SourceFact(FactKind.FIRST, one.members, _REASONS[kind], one.place)
        case kind if kind in _FIXED:
            yield SourceFact(FactKind.OFFSET, one.members or tuple(order), _REASONS[kind], one.place)


def _asserted(one: Dependency) -> Iterator[SourceFact]:
    if not one.members:
        yield SourceFact(FactKind.SIZE, (), "its size is asserted", one.place, one.bytes)
    elif not any(member.startswith(_GROUP_MARK) for member in one.members):
        yield SourceFact(FactKind.OFFSET, one.members, "its offset is asserted", one.place)


def _range(one: Dependency, order: Sequence[str]) -> SourceFact:
    """The members as a run; where it begins or ends with the record, that is where code splits it."""
    reason, names = _REASONS[one.kind], [name for name in order if name in one.members]
    if names and names[0] == order[0] and names[-1] != order[-1]:
        return SourceFact(FactKind.WALL, (order[order.index(names[-1]) + 1],), reason, one.place)
    if names and (names[-1] == order[-1] or len(names) == 1):
        return SourceFact(FactKind.WALL, (names[0],), reason, one.place)
    return SourceFact(FactKind.RANGE, one.members, reason, one.place)
