# SPDX-License-Identifier: GPL-2.0-or-later
"""What freeing an object asks of its layout: the head that RCU queues it by, and the allocator's free pointer."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.model import Member
from linesmith.tuner.constraints.constraint import Constraint, ConstraintKind
from linesmith.tuner.constraints.freedom import Below
from linesmith.tuner.constraints.record import Record, Remark

# kfree_rcu() hands the head's offset on in place of a function: include/linux/rcupdate.h.
_RCU_OFFSETS = 4096
_HEAD = "callback_head"
_FREE_POINTER = "freeptr_t"


def heads_for_rcu(record: Record) -> Iterator[Below]:
    """The head of an object that RCU frees stays within its first 4096 bytes, if it is there now."""
    if record.base + record.layout.size <= _RCU_OFFSETS:
        return
    for position, member in enumerate(record.layout.members):
        start = next((start for name, start in _entered(record, member) if name == _HEAD), None)
        if start is not None and record.base + member.offset + start < _RCU_OFFSETS:
            reason = f"kfree_rcu() finds it within the first {_RCU_OFFSETS} bytes only"
            name = record.parts[record.owners[position]].name
            why = Constraint(ConstraintKind.OFFSET, name, reason, "include/linux/rcupdate.h, kvfree_rcu_arg_2()")
            yield Below(position, start, _RCU_OFFSETS, why)


def free_pointers(record: Record) -> Iterator[Remark]:
    """What shares its place with the allocator's free pointer is lost while RCU readers may still look at it."""
    for position, member in enumerate(record.layout.members):
        if any(name == _FREE_POINTER for name, _ in _entered(record, member)):
            reason = "the allocator's free pointer lies in it once an object is free, when RCU readers may still look"
            name = record.parts[record.owners[position]].name
            yield Remark(Constraint(ConstraintKind.FREE_POINTER, name, reason, "SLAB_TYPESAFE_BY_RCU"))


def _entered(record: Record, member: Member) -> Iterator[tuple[str, int]]:
    """The record that the member is, and those in anonymous records of it: name, and byte in the member."""
    if member.record is None:
        return
    inner = record.layouts.by_id(member.record)
    yield inner.name, 0
    for part in flatten(inner, record.layouts) if not inner.name else ():
        yield from part.chain
