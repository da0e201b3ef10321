# SPDX-License-Identifier: GPL-2.0-or-later
"""Renders a layout in the style of pahole 1.24: members with offset and size in bytes, gaps, lines, and a trailer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.gaps import (
    Gaps,
    gaps,
    inferred_alignments,
    inferred_packed,
    inferred_record_alignment,
    lines,
)
from linesmith.analyzer.layouts.leaves import flatten
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, RecordKind, top_member

TAB = 8
TYPE_WIDTH = 26
STRUCT_WIDTH = 49
UNION_WIDTH = 47
EXPANDED_WIDTH = 32
MOST_WRITTEN_OUT = 1 << 17
MOST_LEVELS = 64

# What stands behind a member that begins at this byte of the record; there is one for each record.
MemberNotes = Callable[[int, Member], str]
LayoutNotes = Callable[[Layout], MemberNotes]
# A line, and the number of the outermost record's member that it shows: none of heads, trailers, boundaries of lines.
Row = tuple[int | None, str]


def no_notes(_layout: Layout) -> MemberNotes:
    """Nothing behind any member."""
    return lambda _offset, _member: ""


def render_text(
    records: tuple[Layout, ...], layouts: Layouts, expand: bool = False, notes: LayoutNotes = no_notes
) -> str:
    """The records one after the other; a name with several layouts says of each where it is declared."""
    rendering = Rendering(layouts, expand, notes)
    return "".join(_origin(layout, layouts) + rendering.text(layout) for layout in records)


def _origin(layout: Layout, layouts: Layouts) -> str:
    same = [other for other in layouts.variants(layout.name) if other.title == layout.title]
    if len(same) < 2:
        return ""
    number = [other.id for other in same].index(layout.id) + 1
    used = units(layout.units, "compile unit")
    return f"/* {layout.title}, layout {number} of {len(same)}: {layout.place}, in {used} */\n"


class Rendering:
    """Renders records of ``layouts``; ``expand`` writes named nested records out as well as anonymous ones.

    ``notes`` tells for a record what stands behind its members. ``left`` is how many nested records and members of
    theirs may still be written out: damaged debug information can nest without end.
    """

    def __init__(self, layouts: Layouts, expand: bool = False, notes: LayoutNotes = no_notes) -> None:
        self.layouts = layouts
        self.expand = expand
        self.notes = notes
        self.left = 0

    def text(self, layout: Layout) -> str:
        """The record as text that ends in a newline."""
        return "".join(f"{line}\n" for _, line in self.rows(layout))

    def rows(self, layout: Layout) -> Iterator[Row]:
        """The lines of the record, each with the number of the member that it shows."""
        self.left = MOST_WRITTEN_OUT
        is_union = layout.kind is RecordKind.UNION
        width = (UNION_WIDTH if is_union else STRUCT_WIDTH) + (EXPANDED_WIDTH if self.expand else 0)
        body = list(self._members(layout, _Frame(1, TYPE_WIDTH, width, self.notes(layout)), _Boundaries()))
        yield None, f"{layout.title} {{"
        yield from body
        if not is_union:
            yield from [] if body and not body[-1][1] else [(None, "")]
            yield from ((None, f"\t{line}") for line in trailer(layout, self.layouts))
        yield None, f"}}{attributes(layout)};"

    def _members(self, layout: Layout, frame: _Frame, boundaries: _Boundaries) -> Iterator[Row]:
        """The members; those of a union begin on the line the union begins on, and so does what follows."""
        if layout.kind is RecordKind.UNION:
            for index, member in enumerate(layout.members):
                yield from ((index, line) for line in self._member(member, frame, _Boundaries(boundaries.current)))
            return
        remarks = Remarks(layout, self.layouts, frame.type_width)
        blank = True
        for index, member in enumerate(layout.members):
            yield from ((index - 1, line) for line in _block(remarks.before(index), frame, blank))
            yield from ((None, frame.line(line)) for line in boundaries.crossed(frame.base + member.offset))
            yield from ((index, line) for line in self._member(member, frame, boundaries))
            after = list(_block(remarks.after(index), frame, False))
            yield from ((index, line) for line in after)
            blank = bool(after)

    def _member(self, member: Member, frame: _Frame, boundaries: _Boundaries) -> Iterator[str]:
        inner = self._written_out(member, frame)
        if inner is None:
            *before, last = _plain(member, frame)
            yield from map(frame.line, (*before, last + frame.remark(member)))
            return
        opening = member.type
        if inner.kind.value not in member.type.split():
            # A typedef's name is no C keyword, so it stands in a comment.
            tag = "" if inner.typedef else f" {inner.name}"
            opening = f"/* typedef {member.type} */ {inner.kind.value}{tag}".rstrip()
        yield frame.line(f"{opening} {{")
        written = [line for _, line in self._members(inner, frame.deeper(member.offset), boundaries)]
        yield from written if not written or written[-1] else written[:-1]
        # pahole pads neither arrays nor a record's own alignment.
        own = "" if inner.kind is RecordKind.UNION else attributes(inner)
        width = 0 if member.dimensions or member.flexible else frame.width + len(aligned(inner.alignment)) * bool(own)
        yield frame.line(_placed(f"}}{own} {member.declarator}".rstrip(), member, frame.base, width))

    def _written_out(self, member: Member, frame: _Frame) -> Layout | None:
        """The record to write in braces: an anonymous one, or any when expanding."""
        if member.record is None or frame.depth > MOST_LEVELS or self.left <= 0:
            return None
        layout = self.layouts.by_id(member.record)
        if layout.name and not self.expand:
            return None
        self.left -= 1 + len(layout.members)
        return layout


def _block(remarks: list[str], frame: _Frame, blank: bool) -> Iterator[str]:
    """Remarks between empty lines; ``blank`` tells that an empty line has just been written."""
    if remarks:
        yield from [] if blank else [""]
        yield from map(frame.line, remarks)
        yield ""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where members are written: tabs before them, width of the type column, width up to the comment.

    ``base`` is the first byte of the record in the outermost one, which ``notes`` speaks of.
    """

    depth: int
    type_width: int
    width: int
    notes: MemberNotes
    base: int = 0

    def deeper(self, offset: int) -> _Frame:
        """The frame of the record nested at byte ``offset`` of this one."""
        return _Frame(self.depth + 1, self.type_width - TAB, self.width - TAB, self.notes, self.base + offset)

    def line(self, text: str) -> str:
        """``text`` behind this frame's tabs."""
        return "\t" * self.depth + text

    def remark(self, member: Member) -> str:
        """What stands behind the member, with a space before it."""
        text = self.notes(self.base + member.offset, member)
        return f" /* {text} */" if text else ""


class _Boundaries:
    """The cache line the rendering has come to, so that each boundary is announced once."""

    def __init__(self, current: int = 0) -> None:
        self.current = current

    def crossed(self, offset: int) -> Iterator[str]:
        """The announcement of the line that holds byte ``offset``, if it is a later one than before."""
        number, past = divmod(offset, CACHE_LINE_BYTES)
        if number > self.current:
            self.current = number
            ago = f" was {units(past, 'byte')} ago" if past else ""
            yield f"/* --- cacheline {number} boundary ({number * CACHE_LINE_BYTES} bytes){ago} --- */"


def _plain(member: Member, frame: _Frame) -> Iterator[str]:
    """A member that is no record written out; the values of an anonymous enum stand in braces."""
    bits = f":{member.bit_size}" if member.is_bit_field else ""
    name = f"{member.declarator}{bits}"
    opening, brace, values = member.type.partition("{")
    if not brace:
        yield _placed(f"{member.type:<{abs(frame.type_width)}} {name}", member, frame.base, frame.width)
        return
    yield f"{opening.rstrip()} {{"
    pairs = [value.split(" = ") for value in values.rstrip("}").split(", ")]
    widest = max(len(pair[0]) for pair in pairs)
    yield from (f"\t{pair[0]:<{widest}} = {pair[-1]}," for pair in pairs)
    yield _placed(f"}} {name}", member, frame.base, frame.width + len(bits))


def _placed(text: str, member: Member, base: int, width: int) -> str:
    """``text`` with the member's alignment, padded to ``width``, and the comment with offset and size."""
    offset = f"{base + member.offset:>5}"
    if member.bit_offset is None:
        place = f"{offset} {member.size:>5}"
    else:
        place = f"{offset}:{member.bit_offset - 8 * member.offset:>2} {member.size:>2}"
    return f"{text + aligned(member.alignment) + ';':<{max(0, width - 1)}} /* {place} */"


def units(number: int, unit: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


class Remarks:
    """What stands between the members of one record; ``type_width`` is that of the column of types."""

    def __init__(self, layout: Layout, layouts: Layouts, type_width: int) -> None:
        self._layout = layout
        self._layouts = layouts
        self._gaps = gaps(layout)
        # The first byte behind every storage unit of the run of bit-fields that ends with a member; 0 for none.
        ends = accumulate(layout.members, lambda end, one: max(end, one.end) if one.is_bit_field else 0, initial=0)
        self._unit_ends = tuple(ends)[1:]
        self._type_width = abs(type_width)

    def before(self, index: int) -> list[str]:
        """What stands before member ``index``: why a bit-field is not where the one before it would put it."""
        member, previous = self._layout.members[index], self._layout.members[max(index - 1, 0)]
        remarks = []
        if index == 0:
            remarks = self._holes(-1)
        elif member.is_bit_field:
            # A unit that begins before, or within, a member that is not part of it.
            overlaps = not previous.is_bit_field and member.offset < previous.end
            if overlaps or member.offset < previous.offset:
                remarks.append("/* Bitfield combined with previous fields */")
        if _begins_unit(self._layout, index) and self._gaps.bits_after(index - 1):
            remarks += ["/* Force alignment to the next boundary: */", f"{member.type:<{self._type_width}} :0;"]
        return remarks

    def after(self, index: int) -> list[str]:
        """What stands behind member ``index``: padding inside it, holes, and a unit that the next member shares."""
        member = self._layout.members[index]
        padding = last_struct_padding(member, self._layouts)
        remarks = [f"/* XXX last struct has {units(padding, 'byte')} of padding */"] if padding else []
        remarks += self._holes(index)
        if index + 1 == len(self._layout.members):
            return remarks
        following, bits = self._layout.members[index + 1], self._gaps.bits_after(index)
        if bits and following.is_bit_field and not _begins_unit(self._layout, index + 1):
            remarks.append(f"{following.type:<{self._type_width}} :{bits};")
        own_end = member.end if member.is_bit_field else 0
        unit_end = self._unit_ends[index] if following.is_bit_field else own_end
        if member.offset < following.offset < unit_end:
            remarks.append("/* Bitfield combined with next fields */")
        return remarks

    def _holes(self, after: int) -> list[str]:
        bits, size = self._gaps.bits_after(after), self._gaps.hole_after(after)
        remarks = [f"/* XXX {units(bits, 'bit')} hole, try to pack */"] if bits else []
        return remarks + ([f"/* XXX {units(size, 'byte')} hole, try to pack */"] if size else [])


def last_struct_padding(member: Member, layouts: Layouts) -> int:
    """Bytes of padding at the end of the struct ``member`` holds by value; pahole does not look into arrays."""
    if member.record is None or member.dimensions or member.flexible:
        return 0
    return gaps(layouts.by_id(member.record)).padding


def _begins_unit(layout: Layout, index: int) -> bool:
    """Whether member ``index`` is the first bit-field of its storage unit."""
    member = layout.members[index]
    if not member.is_bit_field or index == 0:
        return member.is_bit_field
    previous = layout.members[index - 1]
    return not previous.is_bit_field or previous.offset != member.offset


def attributes(layout: Layout) -> str:
    """The attributes behind the closing brace, with a space before each."""
    packed = " __attribute__((__packed__))" if inferred_packed(layout) else ""
    return packed + aligned(layout.alignment)


def aligned(alignment: int | None) -> str:
    """The alignment attribute with a space before it; empty for ``None``."""
    return f" __attribute__((__aligned__({alignment})))" if alignment else ""


def trailer(layout: Layout, layouts: Layouts) -> Iterator[str]:
    """Comment lines: size, sums of members and gaps, padding, alignments, bytes on the last line."""
    found = gaps(layout)
    yield f"/* size: {layout.size}, cachelines: {lines(layout)}, members: {len(layout.members)} */"
    yield from _sums(layout, found)
    if found.padding:
        yield f"/* padding: {found.padding} */"
    inner = [padding for member in layout.members if (padding := last_struct_padding(member, layouts))]
    if inner:
        yield f"/* paddings: {len(inner)}, sum paddings: {sum(inner)} */"
    if found.bit_padding:
        yield f"/* bit_padding: {found.bit_padding} bits */"
    yield from _forced(layout, found)
    yield from _inferred(layout)
    if layout.size % CACHE_LINE_BYTES:
        yield f"/* last cacheline: {layout.size % CACHE_LINE_BYTES} bytes */"


def _sums(layout: Layout, found: Gaps) -> Iterator[str]:
    whole = sum(member.size for member in layout.members if not member.is_bit_field)
    bits = sum(member.bit_size or 0 for member in layout.members)
    if not found.holes and not found.bit_holes:
        return
    if whole:
        holes = f", holes: {len(found.holes)}, sum holes: {sum(hole.size for hole in found.holes)}"
        yield f"/* sum members: {whole}{holes if found.holes else ''} */"
    if bits and found.bit_holes:
        holes = f"bit holes: {len(found.bit_holes)}, sum bit holes: {sum(hole.bits for hole in found.bit_holes)} bits"
        yield f"/* sum bitfield members: {bits} bits, {holes} */"
    elif bits:
        yield f"/* sum bitfield members: {bits} bits ({bits // 8} bytes) */"


def _forced(layout: Layout, found: Gaps) -> Iterator[str]:
    """Members with an explicit alignment, and the holes before them."""
    forced = [index for index, member in enumerate(layout.members) if member.alignment]
    if not forced:
        return
    holes = [size for index in forced if (size := found.hole_after(index - 1))]
    text = f", forced holes: {len(holes)}, sum forced holes: {sum(holes)}" if holes else ""
    yield f"/* forced alignments: {len(forced)}{text} */"


def _inferred(layout: Layout) -> Iterator[str]:
    """Alignments that explain the gaps where none is stated; pahole has no such line."""
    members = zip(layout.members, inferred_alignments(layout), strict=True)
    found = [(one.name, alignment) for one, alignment in members if alignment]
    whole = inferred_record_alignment(layout)
    texts = [f"{name} {alignment}" for name, alignment in found] + ([f"the whole {whole}"] if whole else [])
    if texts:
        yield f"/* inferred alignments: {', '.join(texts)} */"


# The part of a layout that matters to a change: some members, their neighbours, their lines.

_ELLIPSIS, _REMARK, _BOUNDARY = "          ...", "/* XXX ", "/* --- cacheline"


def excerpt(
    layout: Layout,
    layouts: Layouts,
    shown: frozenset[str],
    marked: frozenset[str],
    heat: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Lines of the layout with the members ``shown`` and their neighbours; those ``marked`` begin with ``>``.

    What is left out in between is one line with an ellipsis, and so is a boundary before none of them. ``heat`` stands
    behind the members it names.
    """
    rendering = Rendering(layouts, notes=lambda _layout: lambda _offset, member: heat.get(member.name, ""))
    near = {index + step for index in _indices(layout, shown, layouts) for step in (-1, 0, 1)}
    flagged = set(_indices(layout, marked, layouts))
    waiting: list[str] = []
    for index, line in rendering.rows(layout):
        text = f"{'>' if index in flagged and line and _REMARK not in line else ' '} {line}".expandtabs(TAB).rstrip()
        if index is None and _BOUNDARY in line:
            waiting = [*([_ELLIPSIS] if waiting else []), text]
        elif index is not None and index not in near:
            waiting += [_ELLIPSIS] if waiting[-1:] != [_ELLIPSIS] else []
        else:
            yield from waiting if index is not None else [_ELLIPSIS] * bool(waiting)
            yield text
            waiting = []


def _indices(layout: Layout, names: frozenset[str], layouts: Layouts) -> Iterator[int]:
    """The members with one of the names, or with one inside that has it where they are anonymous."""
    for index, member in enumerate(layout.members):
        inside = {member.name}
        if not member.name and member.record is not None:
            leaves = flatten(layouts.by_id(member.record), layouts)
            inside = {top_member(leaf.path) for leaf in leaves}
        if inside & names:
            yield index
