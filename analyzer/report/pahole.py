# SPDX-License-Identifier: GPL-2.0-or-later
"""Renders a layout in the style of pahole 1.24: members with offset and size in bytes, gaps, lines, and a trailer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import CACHE_LINE_BYTES, Layout, Member, RecordKind
from linesmith.analyzer.report.pahole_gaps import Remarks, counted
from linesmith.analyzer.report.pahole_trailer import aligned, attributes, trailer

TAB = 8
TYPE_WIDTH = 26
STRUCT_WIDTH = 49
UNION_WIDTH = 47
EXPANDED_WIDTH = 32
MOST_WRITTEN_OUT = 1 << 17
MOST_LEVELS = 64

# What to say beside a member that begins at this byte of the record; asked anew for each record.
Beside = Callable[[int, Member], str]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where members are written: tabs before them, width of the type column, width up to the comment.

    ``base`` is the first byte of the record in the outermost one, which ``beside`` speaks of.
    """

    depth: int
    type_width: int
    width: int
    beside: Beside
    base: int = 0

    def deeper(self, offset: int) -> _Frame:
        """The frame of the record nested at byte ``offset`` of this one."""
        return _Frame(self.depth + 1, self.type_width - TAB, self.width - TAB, self.beside, self.base + offset)

    def line(self, text: str) -> str:
        """``text`` behind this frame's tabs."""
        return "\t" * self.depth + text

    def remark(self, member: Member) -> str:
        """What stands behind the member, with a space before it."""
        text = self.beside(self.base + member.offset, member)
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
            ago = f" was {counted(past, 'byte')} ago" if past else ""
            yield f"/* --- cacheline {number} boundary ({number * CACHE_LINE_BYTES} bytes){ago} --- */"


def nothing(_layout: Layout) -> Beside:
    """Stands for no remarks beside the members."""
    return lambda _offset, _member: ""


def render_text(
    chosen: tuple[Layout, ...],
    layouts: Layouts,
    expand: bool = False,
    beside: Callable[[Layout], Beside] = nothing,
) -> str:
    """The chosen records one after the other; a name with several layouts says of each where it is declared."""
    rendering = Rendering(layouts, expand, beside)
    return "".join(_origin(layout, layouts) + rendering.text(layout) for layout in chosen)


def _origin(layout: Layout, layouts: Layouts) -> str:
    same = [other for other in layouts.variants(layout.name) if other.title == layout.title]
    if len(same) < 2:
        return ""
    number = [other.id for other in same].index(layout.id) + 1
    used = counted(layout.units, "compile unit")
    return f"/* {layout.title}, layout {number} of {len(same)}: {layout.place}, in {used} */\n"


class Rendering:
    """Renders records of ``layouts``; ``expand`` writes named nested records out as well as anonymous ones.

    ``beside`` tells for a record what stands behind its members. ``left`` is how many nested records and members of
    theirs may still be written out: damaged debug information can nest without end.
    """

    def __init__(self, layouts: Layouts, expand: bool = False, beside: Callable[[Layout], Beside] = nothing) -> None:
        self.layouts = layouts
        self.expand = expand
        self.beside = beside
        self.left = 0

    def text(self, layout: Layout) -> str:
        """The record as text that ends in a newline."""
        self.left = MOST_WRITTEN_OUT
        return "\n".join([*self._record(layout), ""])

    def _record(self, layout: Layout) -> Iterator[str]:
        yield f"{layout.title} {{"
        more, beside = EXPANDED_WIDTH if self.expand else 0, self.beside(layout)
        if layout.kind is RecordKind.UNION:
            yield from self._alternatives(layout, _Frame(1, TYPE_WIDTH, UNION_WIDTH + more, beside), _Boundaries())
        else:
            body = list(self._members(layout, _Frame(1, TYPE_WIDTH, STRUCT_WIDTH + more, beside), _Boundaries()))
            yield from body if body and not body[-1] else [*body, ""]
            yield from (f"\t{line}" for line in trailer(layout, self.layouts))
        yield f"}}{attributes(layout)};"

    def _members(self, layout: Layout, frame: _Frame, boundaries: _Boundaries) -> Iterator[str]:
        remarks = Remarks(layout, self.layouts, frame.type_width)
        blank = True
        for index, member in enumerate(layout.members):
            before = remarks.before(index)
            if before:
                yield from self._block(before, frame, blank)
            for line in boundaries.crossed(frame.base + member.offset):
                yield frame.line(line)
            yield from self._member(member, frame, boundaries)
            after = remarks.after(index)
            if after:
                yield from self._block(after, frame, False)
            blank = bool(after)

    def _block(self, remarks: list[str], frame: _Frame, blank: bool) -> Iterator[str]:
        """Remarks between empty lines; ``blank`` tells that an empty line has just been written."""
        if not blank:
            yield ""
        yield from map(frame.line, remarks)
        yield ""

    def _alternatives(self, layout: Layout, frame: _Frame, boundaries: _Boundaries) -> Iterator[str]:
        """Members of a union: each begins on the line the union begins on, and so does what follows."""
        for member in layout.members:
            yield from self._member(member, frame, _Boundaries(boundaries.current))

    def _member(self, member: Member, frame: _Frame, boundaries: _Boundaries) -> Iterator[str]:
        inner = self._written_out(member, frame)
        if inner is None:
            *before, last = _plain(member, frame)
            yield from map(frame.line, (*before, last + frame.remark(member)))
            return
        yield frame.line(f"{_opening(member, inner)} {{")
        body = self._alternatives if inner.kind is RecordKind.UNION else self._members
        written = list(body(inner, frame.deeper(member.offset), boundaries))
        yield from written if not written or written[-1] else written[:-1]
        yield frame.line(self._closing(member, inner, frame))

    def _written_out(self, member: Member, frame: _Frame) -> Layout | None:
        """The record to write in braces: an anonymous one, or any when expanding."""
        if member.record is None or frame.depth > MOST_LEVELS or self.left <= 0:
            return None
        layout = self.layouts.by_id(member.record)
        if layout.name and not self.expand:
            return None
        self.left -= 1 + len(layout.members)
        return layout

    def _closing(self, member: Member, inner: Layout, frame: _Frame) -> str:
        """The brace that ends a written-out record; pahole pads neither arrays nor a record's own alignment."""
        own = "" if inner.kind is RecordKind.UNION else attributes(inner)
        width = 0 if member.dimensions or member.flexible else frame.width + len(aligned(inner.alignment)) * bool(own)
        return _placed(f"}}{own} {member.declarator}".rstrip(), member, frame.base, width)


def _opening(member: Member, inner: Layout) -> str:
    """The type of a record written out; a typedef's name is no C keyword, so it stands in a comment."""
    if inner.kind.value in member.type.split():
        return member.type
    tag = "" if inner.typedef else f" {inner.name}"
    return f"/* typedef {member.type} */ {inner.kind.value}{tag}".rstrip()


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
