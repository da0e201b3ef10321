# SPDX-License-Identifier: GPL-2.0-or-later
"""A candidate in the names of the source, where a macro gives members others than the compiler knows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from linesmith.analyzer.model import Candidate, Layout, Move
from linesmith.patches.macros import RENAMED


def spelt(candidate: Candidate, declared: Collection[str]) -> Candidate:
    """``candidate`` with the names that are not among the ``declared`` members in the words of the source."""
    names = {name: word(name, declared) for name in RENAMED}
    moves = tuple(_move(move, names) for move in candidate.moves)
    return replace(
        candidate, moves=moves, before=_layout(candidate.before, names), after=_layout(candidate.after, names)
    )


def word(name: str, declared: Collection[str]) -> str:
    """The name of one member in the source."""
    other = RENAMED.get(name, name)
    return other if name not in declared and other in declared else name


def _move(move: Move, names: dict[str, str]) -> Move:
    return replace(
        move,
        member=names.get(move.member, move.member),
        after=names.get(move.after or "", move.after),
        partner=names.get(move.partner or "", move.partner),
        members=tuple(names.get(name, name) for name in move.members),
    )


def _layout(layout: Layout, names: dict[str, str]) -> Layout:
    members = tuple(replace(one, name=names.get(one.name, one.name)) for one in layout.members)
    return replace(layout, members=members)
