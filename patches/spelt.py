# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate in the names of the source, where a macro gives members others than the compiler knows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from linesmith.analyzer.model import Candidate, Layout, Move
from linesmith.patches.macros import written_name


def spelt(candidate: Candidate, declared: Collection[str]) -> Candidate:
    """``candidate`` with the names that are not among the ``declared`` members in the words of the source."""
    return replace(
        candidate,
        moves=tuple(_move(move, declared) for move in candidate.moves),
        before=_layout(candidate.before, declared),
        after=_layout(candidate.after, declared),
    )


def word(name: str, declared: Collection[str]) -> str:
    """The name of one member in the source."""
    other = written_name(name)
    return other if name not in declared and other in declared else name


def _move(move: Move, declared: Collection[str]) -> Move:
    return replace(
        move,
        member=word(move.member, declared),
        after=word(move.after, declared) if move.after else move.after,
        partner=word(move.partner, declared) if move.partner else move.partner,
        members=tuple(word(name, declared) for name in move.members),
    )


def _layout(layout: Layout, declared: Collection[str]) -> Layout:
    members = tuple(replace(one, name=word(one.name, declared)) for one in layout.members)
    return replace(layout, members=members)
