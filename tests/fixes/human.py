# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout that a person gave a record, from the steps of the scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fixes.flat import flattened
from fixes.scenario import ScenarioError, Step

from linesmith.analyzer.geometry import flatten
from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import lay_out, refusal
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, Member


def human_layout(layout: Layout, steps: Sequence[Step], layouts: Layouts) -> Layout:
    """``layout`` without anonymous structs after the steps, placed by C's rules.

    Raises ``ScenarioError`` where a member is not there.
    """
    explained = with_inferred_alignment(flattened(layout, layouts))
    if reason := refusal(explained):
        raise ScenarioError(f"{layout.title} cannot be laid out anew: {reason}")
    order = list(explained.members)
    for step in steps:
        order = _after(step, order, layouts)
    return lay_out(explained, tuple(order))


def _after(step: Step, order: list[Member], layouts: Layouts) -> list[Member]:
    moved = [_called(name, order, layouts) for name in step.members]
    if not step.moves:
        return [_aligned(member, step) if member is moved[0] else member for member in order]
    rest = [member for member in order if not any(member is one for one in moved)]
    at = _place(step, rest, layouts)
    return [*rest[:at], _aligned(moved[0], step), *moved[1:], *rest[at:]]


def _aligned(member: Member, step: Step) -> Member:
    return replace(member, alignment=step.align) if step.align else member


def _place(step: Step, rest: Sequence[Member], layouts: Layouts) -> int:
    if step.first:
        return 0
    if step.last:
        return len(rest)
    beside = _called(step.after or step.before or "", rest, layouts)
    at = next(position for position, member in enumerate(rest) if member is beside)
    return at + 1 if step.after else at


def _called(name: str, members: Sequence[Member], layouts: Layouts) -> Member:
    """The member of that name; an anonymous union by any name inside it."""
    for member in members:
        if member.name == name or (not member.name and name in _inside(member, layouts)):
            return member
    raise ScenarioError(f"there is no member {name}; there are {', '.join(one.name for one in members if one.name)}")


def _inside(member: Member, layouts: Layouts) -> set[str]:
    if member.record is None:
        return set()
    return {leaf.path.partition(".")[0].partition("[")[0] for leaf in flatten(layouts.by_id(member.record), layouts)}
