# SPDX-License-Identifier: GPL-2.0-or-later
"""Where C puts the members of a struct: a pure function from their order to offsets and size.

The rules are those of gcc and clang on the System V ABIs of x86-64 and AArch64: each member at the next multiple of
its alignment; a bit-field at the next free bit unless it would then span more alignment units than its declared type
has, else at the next multiple of that type's alignment. Source: System V ABI, x86-64 supplement 3.1.2; gcc internals,
``PCC_BITFIELD_TYPE_MATTERS``. Records that follow other rules (packed, overlapping) are refused, never guessed.

What is placed are atoms, runs of members that move as one: bit-fields that share storage units, cacheline groups
(include/linux/cache.h), and what the source treats as one range. Every other member, an anonymous struct or union
included, is an atom of its own. Records that others know by their offsets are not rearranged: see ``unmovable``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.model import FactKind, Layout, Member, MemberCategory, RecordKind, SourceFact

BYTE = 8
GROUP_BEGIN = "__cacheline_group_begin__"
GROUP_END = "__cacheline_group_end__"
GROUP_PAD = "__cacheline_group_pad__"
# Types of a fixed byte order: include/uapi/linux/types.h, include/uapi/linux/virtio_types.h.
_ORDERED = frozenset(
    [f"__{order}{bits}" for order in ("le", "be", "virtio") for bits in (16, 32, 64)] + ["__sum16", "__wsum"]
)
_SYSTEM = ("/usr/include/", "/usr/lib/")
# Records that entry code or the CPU fills: the header or file that declares them.
_BY_HARDWARE = {
    "pt_regs": "arch/x86/include/asm/ptrace.h",
    "inactive_task_frame": "arch/x86/include/asm/switch_to.h",
    "fixed_percpu_data": "arch/x86/include/asm/processor.h",
    "cpu_entry_area": "arch/x86/include/asm/cpu_entry_area.h",
    "gdt_page": "arch/x86/include/asm/desc.h",
}
# Records inside records are looked at this deep.
_DEPTH = 8
# Records that the kernel lays over struct page, which describes a page frame: a slab, a folio, a page table. Source:
# include/linux/mm_types.h and mm/slab.h, where static_asserts keep their members in step.
PAGE_OVERLAYS = ("page", "folio", "slab", "ptdesc", "zpdesc")


@dataclass(frozen=True, slots=True)
class PlacedMembers:
    """Offsets for members in the order given; ``starts`` and ``end`` in bits, ``size`` and ``alignment`` in bytes."""

    starts: tuple[int, ...]
    end: int
    size: int
    alignment: int


def round_up(value: int, step: int) -> int:
    """The smallest multiple of ``step`` that is not below ``value``."""
    return -(-value // step) * step


def alignment_of(member: Member) -> int:
    """Alignment in bytes that the member has in a record that is not packed."""
    return max(member.natural_alignment, member.alignment or 1, 1)


@dataclass(frozen=True, slots=True)
class MemberShape:
    """What of a member decides its place, in bits; ``width`` is that of a bit-field, else ``None``.

    ``alignment`` is that of the member, and for a bit-field that of its type; ``forced`` is a bit-field's explicit one.
    """

    size: int
    alignment: int
    width: int | None = None
    forced: int = 1


def shape_of(member: Member) -> MemberShape:
    """The shape of ``member``."""
    size = member.size * BYTE
    if member.bit_size is None:
        return MemberShape(size, alignment_of(member) * BYTE)
    unit = max(member.natural_alignment, 1) * BYTE
    return MemberShape(max(size, unit), unit, member.bit_size, member.alignment * BYTE if member.alignment else 1)


def place(members: Iterable[Member], record_alignment: int | None = None) -> PlacedMembers:
    """Place ``members`` in this order; ``record_alignment`` is the record's explicit alignment in bytes."""
    return place_shapes([shape_of(member) for member in members], record_alignment)


def end_of(shapes: Iterable[MemberShape], end: int = 0) -> int:
    """The bit behind the last of these members: what ``place_shapes`` gives, for who tries many orders."""
    for shape in shapes:
        if shape.width is None:
            end = -(-end // shape.alignment) * shape.alignment + shape.size
        else:
            end = bit_field_start(shape, end) + shape.width
    return end


def place_shapes(shapes: Iterable[MemberShape], record_alignment: int | None = None, end: int = 0) -> PlacedMembers:
    """Place members of these shapes in this order, behind ``end`` bits that are taken."""
    starts: list[int] = []
    alignment = (record_alignment or 1) * BYTE
    for shape in shapes:
        if shape.width is None:
            start = -(-end // shape.alignment) * shape.alignment
            end = start + shape.size
        else:
            start = bit_field_start(shape, end)
            end = start + shape.width
        starts.append(start)
        alignment = max(alignment, shape.alignment, shape.forced)
    return PlacedMembers(tuple(starts), end, round_up(end, alignment) // BYTE, alignment // BYTE)


def bit_field_start(shape: MemberShape, end: int) -> int:
    """First bit of a bit-field that follows ``end`` bits."""
    end = round_up(end, shape.forced)
    spanned = round_up(end % shape.alignment + (shape.width or 0), shape.alignment)
    return round_up(end, shape.alignment) if spanned > shape.size else end


def place_member(member: Member, start: int) -> Member:
    """``member`` at bit ``start``; the storage unit of a bit-field is the aligned one that holds its first bit."""
    if member.bit_size is None:
        return member if member.offset == start // BYTE else replace(member, offset=start // BYTE)
    unit = max(member.size, 1)
    return replace(member, offset=start // BYTE // unit * unit, bit_offset=start)


def lay_out(layout: Layout, members: tuple[Member, ...]) -> Layout:
    """``layout`` with ``members`` placed anew in the order given; the record's own explicit alignment stays.

    Those of a union stay where they are: it is as large as the largest and as aligned as the most aligned of them.
    """
    if layout.kind is RecordKind.UNION:
        natural = max(member.natural_alignment for member in members)
        size = round_up(max(member.size for member in members), natural)
        return replace(layout, members=members, natural_alignment=natural, size=size)
    placement = place(members, layout.alignment)
    placed = tuple(place_member(*pair) for pair in zip(members, placement.starts, strict=True))
    natural = max([layout.natural_alignment, *(alignment_of(member) for member in members)])
    return replace(layout, members=placed, size=placement.size, natural_alignment=natural)


def refusal(layout: Layout) -> str | None:
    """Why the members of ``layout`` cannot be placed by these rules, or ``None`` when its own order reproduces it."""
    if layout.kind is RecordKind.UNION:
        return "the members of a union share one offset, so none can be moved"
    placement = place(layout.members, layout.alignment)
    for member, start in zip(layout.members, placement.starts, strict=True):
        if start != member.first_bit:
            return _cause(layout) or f"{member.name or 'an anonymous member'} is not at the offset that C's rules give"
    if placement.size != layout.size:
        return _cause(layout) or f"its size is {layout.size} bytes where C's rules give {placement.size}"
    return None


def _cause(layout: Layout) -> str | None:
    """The usual reason for a layout that the rules do not give."""
    last = 0
    for member in layout.members:
        if member.first_bit < last:
            return f"{member.name or 'an anonymous member'} overlaps the member before it"
        last = member.first_bit + (member.size * BYTE if member.bit_size is None else member.bit_size)
    misaligned = any(m.bit_size is None and m.offset % alignment_of(m) for m in layout.members)
    if misaligned or layout.size % max((alignment_of(m) for m in layout.members), default=1):
        return "it is packed: its offsets are an exchange format or were chosen by hand"
    return None


@dataclass(frozen=True, slots=True)
class LayoutAtom:
    """Members that move together, in order; ``name`` and ``last`` are the first and last name to find them by.

    ``names`` are those of all of them, an anonymous record by the first name inside.
    """

    names: tuple[str, ...]
    members: tuple[Member, ...]

    @property
    def name(self) -> str:
        """What the first member is found by."""
        return self.names[0]

    @property
    def last(self) -> str:
        """What the last member is found by."""
        return self.names[-1]

    @property
    def is_group(self) -> bool:
        """Whether the atom is a range between cacheline group markers."""
        return len(self.members) > 1 and self.members[0].name.startswith(GROUP_BEGIN)


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """Where a member of the outermost scope lies: the position of its member, the byte in it, and its size."""

    member: int
    start: int
    size: int


def atoms(layout: Layout, layouts: Layouts, facts: Iterable[SourceFact] = ()) -> tuple[LayoutAtom, ...]:
    """The atoms of ``layout`` in declaration order; together they hold each member once.

    Of the ``facts`` of the record, those of ranges and blocks make the members in between one atom. A group whose
    markers are walls is opened: its members are atoms of their own.
    """
    known = tuple(facts)
    walls = frozenset(name for fact in known if fact.kind is FactKind.WALL for name in fact.members)
    joining = [fact for fact in known if fact.kind in (FactKind.RANGE, FactKind.TOGETHER)]
    places = visible_places(layout, layouts) if joining else {}
    found = ([places[name].member for name in fact.members if name in places] for fact in joining)
    ranges = [range(min(positions), max(positions) + 1) for positions in found if positions]
    joined: list[range] = []
    for run in _runs(layout, walls):
        if joined and any(one.start < run.start < one.stop for one in ranges):
            joined[-1] = range(joined[-1].start, run.stop)
        else:
            joined.append(run)
    runs = [layout.members[run.start : run.stop] for run in joined]
    return tuple(LayoutAtom(tuple(spoken_name(member, layouts) for member in run), run) for run in runs)


def _runs(layout: Layout, walls: frozenset[str]) -> list[range]:
    """Positions of members that the layout itself shows to move together; groups between ``walls`` are open."""
    runs: list[range] = []
    group_end: str | None = None
    for position, member in enumerate(layout.members):
        if runs and (group_end or _continues(layout.members[position - 1], member)):
            runs[-1] = range(runs[-1].start, position + 1)
        else:
            runs.append(range(position, position + 1))
        if member.name.startswith(GROUP_BEGIN) and member.name not in walls:
            group_end = GROUP_END + member.name.removeprefix(GROUP_BEGIN)
        elif member.name == group_end:
            group_end = None
    return runs


def _continues(last: Member, member: Member) -> bool:
    """Whether ``member`` belongs to the atom that ``last`` ends (no group is open)."""
    if last.name.startswith(GROUP_END):
        return member.name == GROUP_PAD + last.name.removeprefix(GROUP_END)
    return last.is_bit_field and member.is_bit_field


def spoken_name(member: Member, layouts: Layouts) -> str:
    """The member's name; for an anonymous record the first name inside, ``""`` where there is none."""
    return next((name for name, _, _ in visible(member, layouts)), "")


def visible_places(layout: Layout, layouts: Layouts) -> dict[str, MemberPlace]:
    """Every name that ``object->name`` reaches, members of anonymous records included."""
    found: dict[str, MemberPlace] = {}
    for position, member in enumerate(layout.members):
        for name, start, size in visible(member, layouts):
            found.setdefault(name, MemberPlace(position, start, size))
    return found


def visible(member: Member, layouts: Layouts, entered: frozenset[int] = frozenset()) -> Iterator[tuple[str, int, int]]:
    """Names that ``member`` gives the record it is in, each with its first byte in the member and its size.

    ``entered`` are records not to enter: damaged debug information may let one hold itself.
    """
    if member.name:
        yield member.name, 0, member.size
    elif member.record is not None and member.record not in entered:
        for part in layouts.by_id(member.record).members:
            for name, start, size in visible(part, layouts, entered | {member.record}):
                yield name, part.offset + start, size


def anonymous_struct(member: Member, layouts: Layouts) -> Layout | None:
    """The layout of an anonymous struct (not union) whose members could be moved among themselves.

    A part that has a tag is none: its members are declared elsewhere, perhaps for others too (-fms-extensions, a base
    in C++).
    """
    if member.name or member.record is None or member.dimensions:
        return None
    inner = layouts.by_id(member.record)
    return inner if inner.kind is RecordKind.STRUCT and not inner.name else None


def unmovable(layout: Layout, layouts: Layouts) -> str | None:
    """Why the members of ``layout`` must all stay where they are, or ``None``."""
    file = layout.file or ""
    if is_user_abi(file):
        return f"{file} declares it, so programs rely on its offsets"
    if file.startswith(_SYSTEM):
        return f"{file} declares it, which other programs share"
    if layout.name in PAGE_OVERLAYS and layouts.variants("page") and layouts.variants("folio"):
        others = " and ".join(name for name in ("page", "folio", "slab") if name != layout.name)
        return f"it shares its memory with struct {others}, and assertions keep them in step"
    if f"/{file}".endswith(f"/{_BY_HARDWARE.get(layout.name)}"):
        return "entry code or the CPU knows its offsets"
    if _exchanged(layout, layouts) and _ordered(layout, layouts):
        return "its members have a fixed byte order, so it is read and written by others"
    if shuffled(layout):
        return "its members are not in the order of their declarations: a compiler plugin has shuffled them"
    return None


def is_user_abi(file: str) -> bool:
    """Whether ``file`` lies in one of the kernel's folders of headers that user space shares."""
    return "/uapi/" in f"/{file}"


def shuffled(layout: Layout) -> bool:
    """Whether members come in another order than the lines that declare them."""
    lines = [member.line for member in layout.members if member.line is not None]
    return any(one > other for one, other in pairwise(lines))


def _exchanged(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether all that it holds is bytes and numbers of a fixed byte order."""
    if depth == _DEPTH:
        return False
    for one in layout.members:
        if one.record is not None:
            if not _exchanged(layouts.by_id(one.record), layouts, depth + 1):
                return False
        elif one.category is not MemberCategory.SCALAR or (one.natural_alignment != 1 and not _is_ordered(one)):
            return False
    return True


def _ordered(layout: Layout, layouts: Layouts, depth: int = 0) -> bool:
    """Whether it holds a number of a fixed byte order."""
    return depth < _DEPTH and any(
        _is_ordered(one) or (one.record is not None and _ordered(layouts.by_id(one.record), layouts, depth + 1))
        for one in layout.members
    )


def _is_ordered(member: Member) -> bool:
    return member.type.removeprefix("const ").removeprefix("volatile ").strip() in _ORDERED
