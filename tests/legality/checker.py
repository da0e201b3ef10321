# SPDX-License-Identifier: GPL-2.0-or-later
"""Every rule once more, from what a candidate's two layouts say: shares no code with the constraints it judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from legality.random_heat import Case, Named, named

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import Candidate, FactKind, Layout, Member, MoveKind, RecordKind, SlabMachine, SourceFact
from linesmith.analyzer.slab.allocation import Kernel, cache_of

KERNEL = Kernel(SlabMachine(cpus=8, release=(6, 1)))
PAGE = 4096
GROUP = "__cacheline_group_"


@dataclass(frozen=True)
class Change:
    """A candidate with the record that it was asked for, and the names in it before and after."""

    case: Case
    candidate: Candidate
    layouts: Layouts
    holders: Sequence[Layout]
    was: dict[str, Named]
    now: dict[str, Named]

    before: Layout
    after: Layout

    def order(self) -> list[int]:
        """Positions in the present layout in the new order; of members that look alike the first comes first."""
        waiting: dict[object, list[int]] = {}
        for position, member in enumerate(self.before.members):
            waiting.setdefault(_looks(member), []).append(position)
        return [waiting[_looks(member)].pop(0) for member in self.after.members]


def violations(case: Case, candidate: Candidate, layouts: Layouts, holders: Sequence[Layout] = ()) -> list[str]:
    """Every rule that the candidate breaks, in words; ``holders`` have the record as a member."""
    was = {one.name: one for one in named(candidate.before, layouts)}
    now = {one.name: one for one in named(candidate.after, layouts)}
    change = Change(case, candidate, layouts, holders, was, now, candidate.before, candidate.after)
    if Counter(map(_looks, change.before.members)) != Counter(map(_looks, change.after.members)):
        return ["members are lost or new"]
    return [said for rule in RULES for said in rule(change)]


def _looks(member: Member) -> object:
    return member.name, member.type, member.declarator, member.size, member.bit_size, member.record, member.line


def _moves(change: Change) -> Iterator[str]:
    """The moves, made one after the other in the present order, give the new one."""
    order = [_name(member, change.layouts) for member in change.before.members]
    for move in change.candidate.moves:
        if move.kind is MoveKind.SWAP:
            exchanged = {move.member: move.partner or "", move.partner or "": move.member}
            order = [exchanged.get(name, name) for name in order]
        elif move.kind is not MoveKind.ALIGN:
            at = order.index(move.member)
            group = order[at : at + max(1, len(move.members))]
            rest = order[:at] + order[at + len(group) :]
            place = 0 if move.after is None else rest.index(move.after) + 1
            order = rest[:place] + group + rest[place:]
    if order != [_name(member, change.layouts) for member in change.after.members]:
        yield "its moves do not lead to its layout"


def _name(member: Member, layouts: Layouts) -> str:
    """The member's name; an anonymous record goes by the first name inside."""
    if member.name or member.record is None:
        return member.name
    return next((one.name for one in named(layouts.by_id(member.record), layouts)), "")


def _sizes(change: Change) -> Iterator[str]:
    before, after, growth = change.before.size, change.after.size, change.case.growth
    if before not in (after, change.case.layout.size):
        yield f"an anonymous struct of {before} bytes has {after}"
    if growth is not None and after > before + growth:
        yield f"grows by {after - before} where {growth} are allowed"
    if growth is None and before <= PAGE < after:
        yield f"does not fit into a page any more: {after}"
    if _packed_holder(change) and before != after:
        yield "a packed record holds it and its size changes"


def _packed_holder(change: Change) -> bool:
    return any(
        one.kind is not RecordKind.UNION
        and any(member.bit_size is None and member.offset % max(member.natural_alignment, 1) for member in one.members)
        for one in change.holders
    )


def _alignments(change: Change) -> Iterator[str]:
    asked = {move.member: move.align for move in change.candidate.moves if move.align}
    for position, member in zip(change.order(), change.after.members, strict=True):
        old = change.before.members[position]
        if (member.alignment or 1) < (old.alignment or 1):
            yield f"{member.name} loses its alignment"
        if member.alignment != old.alignment and member.alignment != asked.get(member.name):
            yield f"{member.name} gets an alignment that no move says"


def _ends(change: Change) -> Iterator[str]:
    first, last = change.before.members[0], change.before.members[-1]
    order = change.order()
    base = change.layouts.by_id(first.record) if first.record is not None else None
    if base and first.name and not first.dimensions and _leaves(base, change.layouts) > 1 and order[0] != 0:
        yield f"{first.name} does not begin the record any more"
    short = bool(last.dimensions) and last.dimensions[0] < 2
    inner = change.layouts.by_id(last.record).members if last.record is not None and not last.dimensions else ()
    if (last.flexible or short or (inner and inner[-1].flexible)) and order[-1] != len(order) - 1:
        yield f"{last.name} does not end the record any more"


def _leaves(layout: Layout, layouts: Layouts, depth: int = 0) -> int:
    """How many members one load can reach, deep inside; those of a union are one."""
    if layout.kind is RecordKind.UNION or depth > 8:
        return 1
    return sum(
        1 if one.record is None else _leaves(layouts.by_id(one.record), layouts, depth + 1) for one in layout.members
    )


def _runs(change: Change) -> Iterator[str]:
    """Bit-fields that follow each other stay together and in order, and what is in a group stays in it."""
    order, members = change.order(), change.before.members
    for position, member in enumerate(members[1:], 1):
        behind = order[order.index(position) - 1] if order.index(position) else None
        if member.is_bit_field and members[position - 1].is_bit_field and behind != position - 1:
            yield f"{member.name} is torn from the bit-field before it"
        if member.is_bit_field and behind not in (None, position - 1) and members[behind].is_bit_field:
            yield f"{member.name} stands beside bit-fields that it was apart from"
    names = [member.name for member in members]
    for begin, name in enumerate(names):
        closing = f"{GROUP}end__{name.removeprefix(f'{GROUP}begin__')}"
        if name.startswith(f"{GROUP}begin__") and closing in names:
            end = names.index(closing)
            if set(order[order.index(begin) : order.index(end) + 1]) != set(range(begin, end + 1)):
                yield f"something has left or entered the group {name.removeprefix(GROUP)}"


def _markers(change: Change) -> Iterator[str]:
    order = change.order()
    for position, member in enumerate(change.before.members):
        bare = member.record is None or bool(member.dimensions) or not change.layouts.by_id(member.record).name
        marks = not member.size and not member.flexible and not member.is_bit_field and bool(member.name) and bare
        pads = not member.size and max(member.natural_alignment, member.alignment or 1) >= 64 and not member.flexible
        crossed = set(order[: order.index(position)]) != set(range(position))
        if (marks or pads) and crossed and not member.name.startswith(GROUP):
            yield f"something has crossed {member.name or 'a padding'}"


def _unmovable(change: Change) -> Iterator[str]:
    record = change.case.layout
    if "uapi/" in (record.file or "") or record.name in ("page", "folio", "slab", "ptdesc", "zpdesc", "pt_regs"):
        yield f"{record.name} is rearranged"


def _linux(change: Change) -> Iterator[str]:
    """What comments of the kernel ask for, of some records."""
    names = [member.name for member in change.after.members]
    old = [member.name for member in change.before.members]
    walls = {"sk_buff": "tail", "bio": "bi_max_vecs", "skb_shared_info": "dataref", "sock_common": "skc_node"}
    wall = walls.get(change.case.layout.name)
    if wall in old and set(names[: names.index(wall)]) != set(old[: old.index(wall)]):
        yield f"something has crossed {wall}"
    if change.case.layout.name == "task_struct" and (names[0], names[-1]) != ("thread_info", "thread"):
        yield "a task does not begin with its thread_info or end with its thread"


def _unions(change: Change) -> Iterator[str]:
    record = change.case.layout
    for one in change.holders if change.before.id == record.id else ():
        held = [member for member in one.members if member.record == record.id and not member.dimensions]
        if one.kind is RecordKind.UNION and held:
            for other in one.members:
                if other.record is not None and other.record != record.id:
                    common = _common(record, change.layouts.by_id(other.record))
                    if change.order()[:common] != list(range(common)):
                        yield f"it no longer begins as {other.type} in the same union does"


def _common(one: Layout, other: Layout) -> int:
    """How many members both records begin with."""
    count = 0
    if other.kind is RecordKind.STRUCT:
        for mine, theirs in zip(one.members, other.members, strict=False):
            if _place(mine) != _place(theirs):
                break
            count += 1
    return count


def _place(member: Member) -> object:
    return member.type, member.offset, member.size, member.bit_offset, member.bit_size, member.dimensions


def _position(change: Change, name: str) -> int:
    """Of the member that gives this name, in the present layout."""

    def gives(member: Member) -> bool:
        if member.name or member.record is None:
            return member.name == name
        return any(one.name == name for one in named(change.layouts.by_id(member.record), change.layouts))

    return next(at for at, member in enumerate(change.before.members) if gives(member))


def _facts(change: Change) -> Iterator[str]:
    """The facts of the case, for names of the record whose members move."""
    for fact in change.case.facts:
        here = [name for name in fact.members if name in change.was]
        if (here or not fact.members) and not _keeps(change, fact, here):
            yield f"{fact.kind} of {', '.join(fact.members)} is broken"


def _keeps(change: Change, fact: SourceFact, here: Sequence[str]) -> bool:
    """Whether the new layout keeps to the fact, of whose members those ``here`` are in the record that changes."""
    order, places = change.order(), sorted(_position(change, name) for name in here) or [0]
    first, last = places[0], places[-1]
    run = list(range(first, last + 1))
    kept = True
    match fact.kind:
        case FactKind.OFFSET | FactKind.FIRST:
            kept = all(change.was[name].start == change.now[name].start for name in here)
        case FactKind.RANGE if len(here) < len(fact.members):  # one that only begins or ends here is fixed
            kept = all(change.was[name] == change.now[name] for name in here)
        case FactKind.RANGE:  # the same members lie between the same ends
            kept = set(order[order.index(first) : order.index(last) + 1]) == set(run)
        case FactKind.TOGETHER:  # all from the first to the last stay one run, in their order
            kept = order[order.index(first) :][: len(run)] == run
        case FactKind.POSITIONAL:
            kept = order[: last + 1] == list(range(last + 1))
        case FactKind.LAST:
            kept = order[first:] == list(range(first, len(order)))
        case FactKind.WALL:
            wall = _position(change, here[0])
            kept = order[wall] == wall and set(order[:wall]) == set(range(wall))
        case FactKind.APART:
            line = fact.bytes or 64
            spans = (change.now[name] for name in here)
            lines = [set(range(one.start // line, (one.end - 1) // line + 1)) for one in spans]
            kept = len(lines) < 2 or not lines[0] & lines[1]
        case FactKind.SIZE | FactKind.PAGE | FactKind.SLAB:
            kept = _fits(change, fact)
    return kept


def _fits(change: Change, fact: SourceFact) -> bool:
    if fact.kind is FactKind.SLAB:
        was, now = (cache_of(one, KERNEL).geometry for one in (change.before, change.after))
        return was.slab_bytes * now.objects >= now.slab_bytes * was.objects
    limit = PAGE if fact.kind is FactKind.PAGE else fact.bytes or 0
    return change.after.size <= max(limit, change.before.size)


RULES: tuple[Callable[[Change], Iterator[str]], ...] = (
    *(_moves, _sizes, _alignments, _ends, _runs),
    *(_markers, _unmovable, _linux, _unions, _facts),
)
