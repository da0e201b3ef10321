# SPDX-License-Identifier: GPL-2.0-or-later
"""Chooses layouts by what a user calls them: a name, ``struct name``, or a pattern."""

from __future__ import annotations

from collections.abc import Iterable

from linesmith.analyzer.errors import TypeNotFound
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, RecordKind

_KINDS = frozenset(kind.value for kind in RecordKind)
MOST_OFFERED, MOST_LISTED = 4, 12


def select(layouts: Layouts, wanted: tuple[str, ...]) -> tuple[Layout, ...]:
    """Every layout of each name or glob pattern, in that order; without any, every record that has a tag.

    ``struct foo`` leaves out unions and typedefs called ``foo``. Raises ``TypeNotFound`` with the nearest names.
    """
    if not wanted:
        return tuple(layout for layout in layouts if layout.name and not layout.typedef)
    for text in wanted:
        if not _called(layouts, text):
            raise TypeNotFound(_not_found(layouts, text))
    return tuple(_select_known(layouts, wanted))


def select_both(old: Layouts, new: Layouts, wanted: tuple[str, ...]) -> tuple[tuple[Layout, ...], tuple[Layout, ...]]:
    """The layouts called so in two files; raises ``TypeNotFound`` for what neither of them has."""
    for text in wanted:
        if not _called(old, text) and not _called(new, text):
            raise TypeNotFound(_not_found(new, text))
    return tuple(_select_known(old, wanted)), tuple(_select_known(new, wanted))


def _select_known(layouts: Layouts, wanted: tuple[str, ...]) -> Iterable[Layout]:
    if not wanted:
        return select(layouts, ())
    return {layout.id: layout for text in wanted for layout in _called(layouts, text)}.values()


def _called(layouts: Layouts, text: str) -> list[Layout]:
    kind, name = _kind_and_name(text)
    exact = layouts.variants(name)  # first, because names in C++ and Rust may hold brackets and stars
    pattern = not exact and any(sign in name for sign in "*?[")
    found = [one for each in _matching(layouts, name) for one in layouts.variants(each)] if pattern else exact
    return [layout for layout in found if _is_kind(layout, kind)]


def bare_name(text: str) -> str:
    """The name of a record without the word that says its kind; it may hold blanks (``queue<long int>``)."""
    return _kind_and_name(text)[1]


def _kind_and_name(text: str) -> tuple[str, str]:
    first, _, rest = text.strip().partition(" ")
    return (first, rest.strip()) if rest and first in _KINDS else ("", text.strip())


def _matching(layouts: Layouts, pattern: str) -> list[str]:
    from fnmatch import filter as matching  # imports re, which a plain name does not need

    matched = set(matching(layouts.names(), pattern))
    return [name for name in layouts.names() if name in matched]


def _is_kind(layout: Layout, kind: str) -> bool:
    return not kind or (layout.kind.value == kind and not layout.typedef)


def nearest_names(layouts: Layouts, text: str) -> list[str]:
    """The names of records that ``text`` may be a slip of, the nearest first."""
    from difflib import get_close_matches  # only a mistake needs it

    return get_close_matches(_kind_and_name(text)[1], layouts.names(), n=MOST_OFFERED, cutoff=0.6)


def _not_found(layouts: Layouts, text: str) -> str:
    if text in _KINDS:
        return f"{text!r} alone names no record; put it and the name in quotes, as in '{text} name', or leave it out"
    return f"no struct or union is called {text!r} in the debug information; {_offer(layouts, text)}"


def _offer(layouts: Layouts, text: str) -> str:
    """The names that may be meant, else all where they are few."""
    if near := nearest_names(layouts, text):
        return f"did you mean {', '.join(near)}?"
    if len(known := layouts.names()) <= MOST_LISTED:
        return f"it has {', '.join(known)}" if known else "it has none at all"
    return "patterns such as 'tcp_*' show what there is"
