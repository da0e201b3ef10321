# SPDX-License-Identifier: GPL-2.0-or-later
"""A lock and what it protects in several copies, replayed on a trace: what the structural change could save."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import NotSimulated, TypeNotFound
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, ObjectArea, Simulation
from linesmith.tuner.plan import ShardBy, Sharding, unchanged
from linesmith.tuner.replay import open_trace
from linesmith.tuner.scene import scene
from linesmith.tuner.simulated import outcomes, run
from linesmith.tuner.structure.reshape import known_members


def simulate_shards(
    record: str, sharding: Sharding, areas: Iterable[ObjectArea], layouts: Layouts, trace: Path
) -> Simulation:
    """The members of ``sharding`` in every ``record`` of the profile's ``areas``, split: misses before and after.

    Raises ``TypeNotFound``, ``NotSimulated`` for a member that the record does not have and for copies by node on
    one node, and ``TraceError``.
    """
    here = scene(_record(record, sharding, layouts), tuple(areas), layouts)
    if not here.kinds:
        return Simulation(refusal=f"The profile knows no object that is or holds a {record}, so the trace cannot tell.")
    replay = open_trace(trace, (here,))
    if sharding.by is ShardBy.NODE and len(set(replay.nodes)) < 2:
        raise NotSimulated(f"all CPUs of {trace} are on one node and would use one copy; say --by cpu")
    as_it_is = unchanged(here)
    before = outcomes(replay, 0, as_it_is)
    return run(replay, 0, replace(as_it_is, sharding=sharding), before, layouts)


def _record(name: str, sharding: Sharding, layouts: Layouts) -> Layout:
    variants = layouts.variants(name)
    if not variants:
        raise TypeNotFound(f"no record is called {name}; name one that `linesmith layout` shows")
    names = [member.name for member in variants[0].members]
    for member in sharding.members:
        if member not in names:
            raise NotSimulated(f"{variants[0].title} has no member {member}; {known_members(member, names)}")
    return variants[0]
