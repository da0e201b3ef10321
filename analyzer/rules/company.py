# SPDX-License-Identifier: GPL-2.0-or-later
"""The other members of a record, seen from some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from linesmith.analyzer.geometry import Named, Span, line_of, nameable, named
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout

# Nesting of what somebody names is flat; damaged debug information may go round.
MOST_LEVELS = 16


def found_members(layout: Layout, layouts: Layouts, paths: Iterable[str]) -> tuple[Named, ...]:
    """Those of ``paths`` that are members with bytes of their own, by offset."""
    found = (named(layout, layouts, path) for path in paths)
    return tuple(sorted((one for one in found if one and one.span.size), key=lambda one: (one.offset, one.path)))


def others(layout: Layout, layouts: Layouts, own: Sequence[Named]) -> Iterator[Named]:
    """The members that lie on no byte of ``own``; a record that holds one of these is looked into."""
    yield from _others(layout, layouts, "", 0, own, MOST_LEVELS)


def _others(
    layout: Layout, layouts: Layouts, path: str, base: int, own: Sequence[Named], levels: int
) -> Iterator[Named]:
    for one in nameable(layout, layouts):
        here = Named(path + one.path, base + one.base, one.member, Span(base + one.offset, one.span.size))
        inside = [other for other in own if here.offset < other.end and other.offset < here.end]
        if not inside:
            if here.span.size:
                yield here
        elif one.member.record is not None and levels and all(_within(other, here) for other in inside):
            inner = layouts.by_id(one.member.record)
            yield from _others(inner, layouts, f"{here.path}.", here.offset, own, levels - 1)


def _within(inner: Named, outer: Named) -> bool:
    """Whether ``inner`` is a part of ``outer``, and no other name of all of it."""
    return outer.offset <= inner.offset and inner.end <= outer.end and inner.span.size < outer.span.size


def listed(names: Sequence[str], most: int = 4) -> str:
    """``a, b and c``; of more than ``most`` names the rest is counted."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def way(old: Named, new: Named) -> str:
    """``went from byte 64 (line 1) to byte 8 (line 0)``, or where it stays."""
    was, now = (f"byte {one.offset} (line {line_of(one.offset)})" for one in (old, new))
    return f"stays at {now}" if was == now else f"went from {was} to {now}"
