# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates as text: what to change, what it gains and costs, and the layout before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from types import MappingProxyType

from linesmith.analyzer.geometry import lines
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import (
    Candidate,
    Considered,
    ElfIdentity,
    Finding,
    Layout,
    Move,
    MoveKind,
    Residual,
    Sharded,
    Simulation,
)
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.analyzer.report.simulation import sharded_rows, simulated_rows

LABEL = 12
MOST_REFUSALS = 8


def render_text(
    proposed: Sequence[tuple[Finding, Sequence[Candidate]]],
    refused: Sequence[tuple[Finding, str]],
    elf: ElfIdentity,
    source: str,
    layouts: Layouts,
    simulations: Mapping[int, Simulation] = MappingProxyType({}),
    sharded: Sharded | None = None,
) -> str:
    """Every line's candidates, numbered through as ``linesmith patch --candidate`` takes them, then the refusals.

    A line's candidates come in the order in which ``simulations`` has their numbers.
    """
    build = f" build-id {elf.build_id}" if elf.build_id else ""
    blocks = [f"{source}\n{elf.path}{build}"]
    places = {number: place for place, number in enumerate(simulations)}
    first = 1
    for finding, candidates in proposed:
        blocks.append(_meeting(finding, candidates[0]))
        numbered = sorted(enumerate(candidates, start=first), key=lambda pair: places.get(pair[0], 0))
        counted = "misses" if finding.simulated else "samples"
        blocks += [_candidate(number, one, layouts, counted, simulations.get(number)) for number, one in numbered]
        first += len(candidates)
    blocks += _refusals([reason for _, reason in refused])
    blocks += ["\n".join(sharded_rows(sharded))] if sharded else []
    return "\n\n".join(blocks) + "\n"


def _refusals(reasons: Sequence[str]) -> list[str]:
    """The first reasons; a recording has many lines that nothing can be done about."""
    more = len(reasons) - MOST_REFUSALS
    rest = [f"{more} more lines have no candidate; --format json has the reasons."] if more > 1 else reasons[-1:]
    return [*reasons[:MOST_REFUSALS], *rest] if more > 0 else list(reasons)


def _meeting(finding: Finding, candidate: Candidate) -> str:
    """The headline of a hot line."""
    title = candidate.before.title if candidate.before.name else candidate.type
    return f"line {finding.rank}, {title}: {finding.triage.sentence}"


def _candidate(number: int, candidate: Candidate, layouts: Layouts, counted: str, simulation: Simulation | None) -> str:
    rows = [f"candidate {number}: {'; '.join(_said(move) for move in candidate.moves)}"]
    rows += [f"  {label:<{LABEL}}{text}" for label, text in _table(candidate, counted)]
    for place, text in enumerate(simulated_rows(simulation) if simulation else ()):
        rows.append(f"  {'' if place else 'simulated':<{LABEL}}{text}")
    rows += [f"  - {note}" for note in candidate.notes]
    rows += [f"  - {constraint}." for constraint in candidate.constraints]
    rows += _others(candidate)
    for when, layout in (("before", candidate.before), ("after", candidate.after)):
        rows += ["", f"  {when}:"]
        rows += [f"  {line}".rstrip() for line in excerpt(layout, layouts, _names(candidate), _moved(candidate))]
    return "\n".join(rows)


def _said(move: Move) -> str:
    """A move in words."""
    whole = f" (with {', '.join(move.members[1:])})" if len(move.members) > 1 else ""
    place = f"behind {move.after}" if move.after else "to the front"
    if move.kind is MoveKind.SWAP:
        return f"swap {move.member} and {move.partner}"
    if move.kind is MoveKind.ALIGN:
        return f"align {move.member} to {move.align} bytes"
    hole = ", into a hole" if move.kind is MoveKind.FILL_HOLE else ""
    return f"move {move.member}{whole} {place}{hole}"


def _table(candidate: Candidate, counted: str) -> Iterator[tuple[str, str]]:
    before, after, gain = candidate.before, candidate.after, candidate.predicted
    yield "contended", f"{gain.before:,.0f} -> {gain.after:,.0f} {counted} of this profile that the meeting explains"
    same = " (unchanged)" if before.size == after.size else f" (now {before.size})"
    yield "size", f"{after.size} bytes{same}, {_counted(candidate.lines)} (now {lines(before)})"
    if gain.hot_lines_before != gain.hot_lines_after:
        yield "hot lines", f"{gain.hot_lines_before:g} -> {gain.hot_lines_after:g} lines hold the members seen hot"
    for residual in candidate.residuals:
        yield "together", f"{residual.first} and {residual.second} on {_residual(residual, before, after)}"


def _counted(count: int) -> str:
    return f"{count} line{'s' if count != 1 else ''}"


def _residual(residual: Residual, before: Layout, after: Layout) -> str:
    old = _share(residual.before, residual.line_bytes, before)
    new = _share(residual.after, residual.line_bytes, after)
    return f"one line of {residual.line_bytes} bytes: {old} -> {new}"


def _share(share: float, line_bytes: int, layout: Layout) -> str:
    """A share of phases as a count of those the record's alignment allows."""
    if share in (0.0, 1.0):
        return "always" if share else "never"
    count = line_bytes // gcd(line_bytes, max(layout.natural_alignment, layout.alignment or 1))
    met = share * count
    return f"{met:.0f} of {count} phases" if met == round(met) else f"{share:.0%} of the phases"


def _others(candidate: Candidate) -> list[str]:
    """The other places of the moved member, in the order of the declaration, with what they leave."""
    if not candidate.considered:
        return []
    rows = [f"  other places for {candidate.moves[0].member}, and how often each pair still meets on 64 bytes:"]
    return rows + [f"    {_other(one, candidate.before)}" for one in candidate.considered]


def _other(one: Considered, before: Layout) -> str:
    place = f"behind {one.after}" if one.after else "first"
    left = [_share(residual.after, residual.line_bytes, before) for residual in one.residuals[::2]]
    size = f", {one.size} bytes" if one.size != before.size else ""
    return f"{place:<28} {', '.join(left)}{size}"


def _names(candidate: Candidate) -> frozenset[str]:
    """Members that the excerpt must show: those that move and those that meet."""
    ends = {name for residual in candidate.residuals for name in (residual.first, residual.second)}
    return frozenset(ends) | _moved(candidate)


def _moved(candidate: Candidate) -> frozenset[str]:
    alone = [name for move in candidate.moves for name in (move.member, move.partner) if name]
    return frozenset(alone + [name for move in candidate.moves for name in move.members if name])
