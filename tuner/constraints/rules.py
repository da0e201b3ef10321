# SPDX-License-Identifier: GPL-2.0-or-later
"""All rules together: the freedom that they leave a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from linesmith.analyzer.geometry.atoms import Atom
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, SourceFact
from linesmith.tuner.constraints.alignment import explicit_alignments
from linesmith.tuner.constraints.bit_fields import separate_runs
from linesmith.tuner.constraints.freedom import Apart, Below, Freedom, Limit, Pin, Run
from linesmith.tuner.constraints.holders import bases, common_beginnings, rigid_holders
from linesmith.tuner.constraints.lines import asserted_apart
from linesmith.tuner.constraints.offsets import relied_first, relied_offsets, relied_order, relied_walls
from linesmith.tuner.constraints.order import first_members, last_members, markers
from linesmith.tuner.constraints.reclaim import free_pointers, heads_for_rcu
from linesmith.tuner.constraints.record import Effect, Fixed, Record, record_of
from linesmith.tuner.constraints.shuffled import randomized
from linesmith.tuner.constraints.size import ceilings, kept_size
from linesmith.tuner.constraints.together import bit_field_runs, groups, ranges_and_blocks

# A rule that comes first gives the reason where several bind the same atom.
RULES: tuple[Callable[[Record], Iterable[Effect]], ...] = (
    last_members,
    first_members,
    relied_walls,
    markers,
    relied_order,
    common_beginnings,
    relied_first,
    relied_offsets,
    groups,
    bit_field_runs,
    separate_runs,
    ranges_and_blocks,
    explicit_alignments,
    asserted_apart,
    heads_for_rcu,
    free_pointers,
    ceilings,
    kept_size,
    rigid_holders,
    bases,
    randomized,
)


def freedom(
    layout: Layout,
    parts: tuple[Atom, ...],
    layouts: Layouts,
    facts: tuple[SourceFact, ...] = (),
    base: int = 0,
    outer: Layout | None = None,
) -> Freedom:
    """What is legal for the atoms ``parts`` of ``layout``, which lies at byte ``base`` of its object.

    ``facts`` are those of this record; ``outer`` is the record of which it is an anonymous struct, if it is one.
    """
    record = record_of(layout, parts, layouts, facts, base, outer or layout)
    effects = [effect for rule in RULES for effect in rule(record)]
    fixed = _by_atom(effects)
    return Freedom(
        _segments(len(parts), fixed),
        tuple(dict.fromkeys(effect.why for effect in effects)),
        {atom: one.why for atom, one in fixed.items()},
        tuple({one.atom: one for one in reversed(effects) if isinstance(one, Pin)}.values()),
        tuple(one for one in effects if isinstance(one, Apart)),
        tuple(one for one in effects if isinstance(one, Limit)),
        tuple(one for one in effects if isinstance(one, Below)),
        tuple(one for one in effects if isinstance(one, Run)),
        base,
    )


def _by_atom(effects: Sequence[Effect]) -> dict[int, Fixed]:
    found: dict[int, Fixed] = {}
    for effect in effects:
        if isinstance(effect, Fixed):
            found.setdefault(effect.atom, effect)
    return found


def _segments(count: int, fixed: dict[int, Fixed]) -> tuple[int, ...]:
    """Ascending numbers: a fixed atom is alone in its segment."""
    segments: list[int] = []
    current = 0
    for atom in range(count):
        current += atom in fixed
        segments.append(current)
        current += atom in fixed
    return tuple(segments)
