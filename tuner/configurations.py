# SPDX-License-Identifier: GPL-2.0-or-later
"""What a change does to the same record in the other configurations that the premises name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.model import Move
from linesmith.tuner.constraints import facts_of
from linesmith.tuner.constraints.elsewhere import Elsewhere, elsewhere
from linesmith.tuner.premises import Configuration
from linesmith.tuner.subject import Subject


def refused_elsewhere(target: Subject, moves: Sequence[Move]) -> str | None:
    """Why another configuration forbids the moves, or ``None``."""
    for one in target.premises.configurations:
        found = _there(target, moves, one)
        if found is not None and found.refused is not None:
            return f"{found.refused} ({one.title})"
    return None


def told_elsewhere(target: Subject, moves: Sequence[Move]) -> Iterator[str]:
    """Sentences on what the moves do in the other configurations."""
    for one in target.premises.configurations:
        found = _there(target, moves, one)
        if found is None:
            yield f"{one.title} has no {target.type} that the change could be checked on."
        else:
            size = found.layout.size
            change = "stays" if found.size == size else f"becomes {found.size}"
            yield f"Also legal in {one.title}, where {found.layout.title} has {size} bytes: its size {change}."


def _there(target: Subject, moves: Sequence[Move], other: Configuration) -> Elsewhere | None:
    record = next(iter(other.layouts.variants(target.type)), None)
    if record is None:
        return None
    alone = replace(target.premises, configurations=())
    here = [name for atom in target.parts for name in atom.names]
    return elsewhere(target.type, here, moves, other.layouts, facts_of(record, alone, other.layouts))
