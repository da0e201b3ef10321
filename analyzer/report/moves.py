# SPDX-License-Identifier: GPL-2.0-or-later
"""What a candidate changes, in words."""

from __future__ import annotations

from linesmith.analyzer.model import Candidate, Move, MoveKind

# With more steps than this, what a candidate does is told by how it was found.
MOST_STEPS = 2
MOST_NAMES = 4
# Pairs of members that are told; a candidate for a record with many hot members parts many.
MOST_PAIRS = 6


def change(candidate: Candidate) -> str:
    """All steps as one clause: ``move a behind b; align c to 64 bytes``."""
    return "; ".join(said(move) for move in candidate.moves)


def short_change(candidate: Candidate) -> str:
    """The same, or how it was found and whom it moves where it has many steps: ``packed anew: a, b, c and 4 more``."""
    if len(candidate.moves) <= MOST_STEPS:
        return change(candidate)
    names = list(dict.fromkeys(name for move in candidate.moves for name in (move.member, move.partner) if name))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{candidate.strategy.value}: {', '.join(names[:MOST_NAMES])}{more}"


def said(move: Move) -> str:
    """A move in words."""
    whole = f" (with {', '.join(move.members[1:])})" if len(move.members) > 1 else ""
    place = f"behind {move.after}" if move.after else "to the front"
    if move.kind is MoveKind.SWAP:
        return f"swap {move.member} and {move.partner}"
    if move.kind is MoveKind.ALIGN:
        return f"align {move.member} to {move.align} bytes"
    hole = ", into a hole" if move.kind is MoveKind.FILL_HOLE else ""
    return f"move {move.member}{whole} {place}{hole}"


def moved_names(candidate: Candidate) -> frozenset[str]:
    """Members that move or change places."""
    alone = [name for move in candidate.moves for name in (move.member, move.partner) if name]
    return frozenset(alone + [name for move in candidate.moves for name in move.members if name])


def concerned_names(candidate: Candidate) -> frozenset[str]:
    """Members that move, and those of the heaviest pairs that meet."""
    pairs = list(dict.fromkeys((residual.first, residual.second) for residual in candidate.residuals))
    return frozenset(name for pair in pairs[:MOST_PAIRS] for name in pair) | moved_names(candidate)
