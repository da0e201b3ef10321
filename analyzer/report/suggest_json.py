# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON form of candidates (docs/schema-suggest.md).

Offsets, sizes and alignments are in bytes; shares run from 0 to 1; counts are samples.
"""

from __future__ import annotations

from linesmith.analyzer.layouts.gaps import lines
from linesmith.analyzer.model import CoherenceStep, Layout, Simulation, StepTable
from linesmith.analyzer.report.candidate import Numbered, Suggested
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.structure import advice_object

SCHEMA_VERSION = 1


def render_json(suggested: Suggested) -> str:
    """The candidates of every line as one JSON document, indented, with a newline at the end.

    They stay in the order of their numbers, simulations or not. ``declined`` are lines with candidates of which none is
    recommended, ``refused`` those without candidates.
    """
    hot, sharded = suggested.lines, suggested.sharded
    document: Json = {
        "schema": SCHEMA_VERSION,
        **fields_of(suggested, "elf", "source", "machine"),
        "candidates": [_candidate(one) for one in suggested.numbered()],
        "declined": [{"line": one.finding.rank, "reason": one.declined} for one in hot if one.declined],
        "refused": [{"line": one.finding.rank, "reason": one.refusal} for one in hot if one.refusal],
        "structure": [
            {"line": one.finding.rank, "advice": [advice_object(each) for each in one.advice]}
            for one in hot
            if one.advice
        ],
    }
    if sharded:
        simulated = _simulation(sharded.simulation)
        document["sharded"] = fields_of(sharded, "type", "members", "ways", "by") | {"simulated": simulated}
    return json_text(document)


def _candidate(one: Numbered) -> Json:
    """A candidate; ``linesmith patch --candidate`` takes ``number`` or ``name``; ``line`` is the hot line's rank."""
    candidate = one.candidate
    simulated = {"simulated": _simulation(one.simulation)} if one.simulation else {}
    replayed = {"replayed": one.replayed} if one.replayed else {}
    return {
        "number": one.number,
        "name": one.name,
        "line": one.line.finding.rank,
        "type": candidate.type,
        "moves": candidate.moves,
        "size": candidate.after.size,
        "lines": candidate.lines,
        "residual_phases": candidate.residuals,
        "predicted": candidate.predicted,
        "pairs": one.line.finding.triage.pairs,
        "before": _layout(candidate.before),
        "after": _layout(candidate.after),
        **fields_of(candidate, "constraints", "notes", "considered", "strategy", "recommended"),
        "cost_before": candidate.costs[0],
        "cost_after": candidate.costs[1],
        **fields_of(candidate, "saving", "churn", "proofs", "optimality", "holders"),
        "granules": candidate.steps,
        **fields_of(candidate, "firsts", "loose"),
        "steps": [_steps(table) for table in one.steps],
        **simulated,
        **replayed,
    }


def _steps(one: StepTable) -> Json:
    """The accesses that stand for one sharing, in the layout as it is and under the candidate."""
    return {
        **fields_of(one, "victim", "writer", "contended", "phase", "phase_after"),
        "before": [_step(step) for step in one.before],
        "after": [_step(step) for step in one.after],
        "notes": one.notes,
    }


def _step(one: CoherenceStep) -> Json:
    """One access of a CPU; ``states`` (``M``, ``E``, ``S``, ``I``) are those behind it by CPU."""
    who = fields_of(one, "cpu", "function", "member", "writes", "line")
    return who | {"states": dict(one.states)} | fields_of(one, "what", "cycles", "needless")


def _simulation(simulation: Simulation) -> Json:
    """What replaying the trace says by size of lines, cycles by the model's default latencies.

    ``refusal`` is why it says nothing, and is empty otherwise.
    """
    counts = fields_of(simulation, "objects", "accesses", "milliseconds", "remarks", "refusal")
    sizes = [
        {
            **fields_of(one, "line_bytes", "before", "after", "traced", "change", "interval"),
            "cycles_before": one.before.cycles(),
            "cycles_after": one.after.cycles(),
            **fields_of(one, "pairs", "phases"),
        }
        for one in simulation.lines
    ]
    return {"lines": sizes, **counts}


def _layout(layout: Layout) -> Json:
    names = ("name", "type", "offset", "size", "bit_offset", "bit_size", "alignment")
    members = [fields_of(member, *names) for member in layout.members]
    whole = {"title": layout.title, "place": layout.place, "size": layout.size, "lines": lines(layout)}
    return whole | {"members": members}
