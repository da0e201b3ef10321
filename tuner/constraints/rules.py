# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of C and of the record's own layout, and all rules together: the freedom that they leave a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.layouts.placement import LayoutAtom, alignment_of
from linesmith.analyzer.model import CACHE_LINE_BYTES, FactKind, Layout, Member, SourceFact
from linesmith.tuner.constraints import kernel_rules
from linesmith.tuner.constraints.freedom import (
    ApartMembers,
    Below,
    BitFieldRun,
    Constraint,
    ConstraintKind,
    Effect,
    Fixed,
    Freedom,
    Limit,
    Pin,
    RuledRecord,
    RuleRemark,
    Stretch,
    record_of,
    source_of,
)


def explicit_alignments(record: RuledRecord) -> Iterator[RuleRemark]:
    """A member that is more aligned than its type asks for stays so, wherever it goes."""
    for member in record.layout.members:
        if (member.alignment or 1) > max(member.natural_alignment, 8):
            reason = f"the source asks for {member.alignment} bytes"
            yield RuleRemark(Constraint(ConstraintKind.ALIGNED, member.name, reason, "DW_AT_alignment"))


def separate_runs(record: RuledRecord) -> Iterator[BitFieldRun]:
    """A run of bit-fields may have its own lock, which does not protect what a neighbouring run shares with it."""
    reason = "beside other bit-fields it would share memory with them, which is read and written as one"
    for atom, part in enumerate(record.parts):
        first, last = part.members[0].is_bit_field, part.members[-1].is_bit_field
        if first or last:
            why = Constraint(ConstraintKind.BIT_FIELDS_APART, part.name, reason, "C11 3.14p3")
            yield BitFieldRun(atom, first, last, why)


def asserted_apart(record: RuledRecord) -> Iterator[ApartMembers]:
    """Members that an assertion has on different lines stay, or come, on different lines."""
    for fact in record.of(FactKind.APART):
        named = ((name, record.places[name]) for name in fact.members if name in record.places)
        stretches = [(name, Stretch(place.member, place.start, place.size)) for name, place in named]
        for (name, first), (_, second) in combinations(stretches, 2):
            why = Constraint(ConstraintKind.APART, name, fact.reason, source_of(fact))
            yield ApartMembers(first, second, fact.bytes or CACHE_LINE_BYTES, why)


def randomized(record: RuledRecord) -> Iterator[RuleRemark]:
    """An order of members is legal but holds only where the compiler does not shuffle them."""
    for fact in record.of(FactKind.RANDOMIZED):
        reason = f"{fact.reason}; an order counts only in builds without CONFIG_RANDSTRUCT"
        title = record.layout.title
        yield RuleRemark(Constraint(ConstraintKind.RANDOMIZED, title, reason, source_of(fact), everywhere=True))


def ceilings(record: RuledRecord) -> Iterator[Limit]:
    """Sizes that the source, or somebody who knows, does not let the record exceed."""
    for fact in record.of(FactKind.SIZE):
        most = max(fact.bytes if fact.bytes is not None else record.layout.size, record.layout.size)
        why = Constraint(ConstraintKind.SIZE, record.layout.title, fact.reason, source_of(fact))
        yield Limit(0, most, why)


def kept_size(record: RuledRecord) -> Iterator[Limit]:
    """A struct inside another record keeps its size, so that what follows it stays; unless nothing does."""
    if record.base == 0 and record.outer.size == record.layout.size:
        return
    name = record.parts[0].name if record.parts else "an anonymous struct"
    reason = "another size would move what follows it"
    why = Constraint(ConstraintKind.SIZE, name, reason, "DW_TAG_member without a name")
    yield Limit(record.layout.size, record.layout.size, why)


def groups(record: RuledRecord) -> Iterator[RuleRemark]:
    """A cacheline group moves as one."""
    for atom in record.parts:
        if atom.is_group:
            reason = "the range between its group markers is asserted at compile time"
            yield RuleRemark(Constraint(ConstraintKind.GROUP, atom.name, reason, "include/linux/cache.h"))


def bit_field_runs(record: RuledRecord) -> Iterator[RuleRemark]:
    """Bit-fields next to each other share storage units."""
    for atom in record.parts:
        if len(atom.members) > 1 and all(member.is_bit_field for member in atom.members):
            reason = f"{len(atom.members)} bit-fields share storage units"
            yield RuleRemark(Constraint(ConstraintKind.BIT_FIELDS, atom.name, reason, "C11 6.7.2.1p11"))


def ranges_and_blocks(record: RuledRecord) -> Iterator[RuleRemark]:
    """Ranges that code treats as one, and blocks that the source keeps together."""
    for fact in record.of(FactKind.RANGE, FactKind.TOGETHER):
        for atom in record.atoms_of(fact):
            if len(record.parts[atom].members) > 1:
                kind = ConstraintKind.RANGE if fact.kind is FactKind.RANGE else ConstraintKind.BLOCK
                yield RuleRemark(Constraint(kind, record.parts[atom].name, fact.reason, source_of(fact)))


def last_members(record: RuledRecord) -> Iterator[Fixed]:
    """A flexible array, a record that ends in one, and a last array of 0 or 1 end the record."""
    if record.parts and (reason := _open_end(record.parts[-1].members[-1], record.layouts)):
        name = record.parts[-1].name
        why = Constraint(ConstraintKind.LAST, name, reason, "C11 6.7.2.1p18", everywhere=True)
        yield Fixed(len(record.parts) - 1, why)


def first_members(record: RuledRecord) -> Iterator[Fixed]:
    """A record in front is what the whole may be cast to; a single word such as ``atomic_t`` is none."""
    first = record.parts[0].members[0] if record.parts else None
    if first is None or first.record is None or not first.name or first.dimensions:
        return
    if len(flatten(record.layouts.by_id(first.record), record.layouts)) > 1:
        reason = "code may cast between the struct and the record it begins with"
        why = Constraint(ConstraintKind.FIRST, record.parts[0].name, reason, "C11 6.7.2.1p15", everywhere=True)
        yield Fixed(0, why)


def markers(record: RuledRecord) -> Iterator[Fixed]:
    """Members without size mark offsets, and those aligned to a line keep groups apart."""
    for number, atom in enumerate(record.parts):
        reasons = (_marker(member, record.layouts) for member in atom.members if not atom.is_group)
        found = next((one for one in reasons if one), None)
        if found:
            reason, source = found
            yield Fixed(number, Constraint(ConstraintKind.MARKER, atom.name, reason, source, everywhere=True))


def _marker(member: Member, layouts: Layouts) -> tuple[str, str] | None:
    """Why nothing may cross ``member``, and the source of that."""
    if not member.size and not member.flexible and alignment_of(member) >= CACHE_LINE_BYTES:
        reason = "it was put there to keep what is before it and what is behind it on different lines"
        return reason, "include/linux/cache.h, CACHELINE_PADDING"
    if _marks_offset(member, layouts):
        return "a member without size marks an offset that code relies on", "offsetof() on the marker"
    return None


def _open_end(member: Member, layouts: Layouts) -> str | None:
    """Why ``member``, the last one, must stay last."""
    if member.flexible:
        return "a flexible array ends the struct"
    if member.dimensions and member.dimensions[0] in (0, 1):
        return f"a last array of {member.dimensions[0]} is often allocated longer than declared"
    if member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record).members
    return "it ends with a flexible array" if inner and inner[-1].flexible else None


def _marks_offset(member: Member, layouts: Layouts) -> bool:
    """A zero-length array or an empty anonymous struct; a named empty record is a feature compiled out."""
    if member.size or member.is_bit_field or not member.name or member.flexible:
        return False
    if member.record is not None and not member.dimensions:
        return not layouts.by_id(member.record).name
    return 0 in member.dimensions


# A rule that comes first gives the reason where several bind the same atom.
RULES: tuple[Callable[[RuledRecord], Iterable[Effect]], ...] = (
    last_members,
    first_members,
    kernel_rules.relied_walls,
    markers,
    kernel_rules.relied_order,
    kernel_rules.common_beginnings,
    kernel_rules.relied_offsets,
    groups,
    bit_field_runs,
    separate_runs,
    ranges_and_blocks,
    explicit_alignments,
    asserted_apart,
    kernel_rules.heads_for_rcu,
    kernel_rules.free_pointers,
    ceilings,
    kept_size,
    kernel_rules.rigid_holders,
    kernel_rules.bases,
    randomized,
)


def freedom(
    layout: Layout,
    parts: tuple[LayoutAtom, ...],
    layouts: Layouts,
    facts: tuple[SourceFact, ...] = (),
    base: int = 0,
    outer: Layout | None = None,
) -> Freedom:
    """What is legal for the atoms ``parts`` of ``layout``, which lies at byte ``base`` of its object.

    ``facts`` are those of this record; ``outer`` is the record of which it is an anonymous struct, if it is one.
    """
    record = record_of(layout, parts, layouts, facts, base, outer or layout)
    effects = [effect for rule in RULES for effect in rule(record)]
    fixed: dict[int, Fixed] = {}
    for effect in effects:
        if isinstance(effect, Fixed):
            fixed.setdefault(effect.atom, effect)
    return Freedom(
        _segments(len(parts), fixed),
        tuple(dict.fromkeys(effect.why for effect in effects)),
        {atom: one.why for atom, one in fixed.items()},
        tuple({one.atom: one for one in reversed(effects) if isinstance(one, Pin)}.values()),
        tuple(one for one in effects if isinstance(one, ApartMembers)),
        tuple(one for one in effects if isinstance(one, Limit)),
        tuple(one for one in effects if isinstance(one, Below)),
        tuple(one for one in effects if isinstance(one, BitFieldRun)),
        base,
    )


def _segments(count: int, fixed: dict[int, Fixed]) -> tuple[int, ...]:
    """Ascending numbers: a fixed atom is alone in its segment."""
    segments: list[int] = []
    current = 0
    for atom in range(count):
        current += atom in fixed
        segments.append(current)
        current += atom in fixed
    return tuple(segments)
