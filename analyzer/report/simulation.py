# SPDX-License-Identifier: GPL-2.0-or-later
"""What a replayed trace says of a candidate, as rows of text."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import ReplayedSaving, Sharded, SimulatedLines, SimulatedPair, Simulation


def simulated_rows(simulation: Simulation) -> Iterator[str]:
    """One row per line size, the pairs that change most, how much was replayed, then what to doubt."""
    if simulation.refusal:
        yield simulation.refusal
        return
    for one in simulation.lines:
        phases = f", mean of {one.phases} phases" if one.phases > 1 else ""
        yield f"{one.line_bytes}-byte lines{phases}: {_misses(one)}, {_of_all(one)}"
    for one in simulation.lines[:1]:
        yield from map(_pair, one.pairs)
    yield f"{simulation.accesses:,} accesses to {simulation.objects:,} objects, replayed in {_time(simulation)}"
    if simulation.useless:
        yield "no better than the layout as it is: the misses go elsewhere"
    yield from (f"but {remark}" for remark in simulation.remarks)


def difference_row(one: ReplayedSaving) -> str:
    """What was predicted beside what the replay counted, as shares of what the record costs now."""
    limits = f"{-one.predicted.most:+.1%} to {-one.predicted.least:+.1%}"
    held = "within" if one.holds else "outside"
    return f"predicted {-one.likely:+.1%} ({limits}): {held} these limits the replay has {-one.replayed:+.1%}"


def sharded_rows(sharded: Sharded) -> Iterator[str]:
    """What is split, what that saves at best, and what has to be true for it."""
    yield f"shard {', '.join(sharded.members)} of {sharded.type}: {sharded.ways} copies, chosen by {sharded.by}"
    for place, row in enumerate(simulated_rows(sharded.simulation)):
        yield f"  {'' if place else 'simulated':<12}{row}"
    yield "  - The best case: every access goes to one copy; what walks all of them, or finds another's, costs more."


def _misses(one: SimulatedLines) -> str:
    counts = f"{one.before.total:,} -> {one.after.total:,} misses"
    if not one.before.total:
        return counts
    return f"{counts} ({one.change:+.1%}, resampled {one.interval.low:+.1%} to {one.interval.high:+.1%})"


def _of_all(one: SimulatedLines) -> str:
    """The objects' share of all misses traced; those elsewhere stay as they are."""
    elsewhere = one.traced - one.before.total
    shares = [_share(misses, elsewhere + misses) for misses in (one.before.total, one.after.total)]
    return f"{shares[0]} -> {shares[1]} of all {one.traced:,} traced"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "none"


def _pair(pair: SimulatedPair) -> str:
    sharing = "true" if pair.true_sharing else "false"
    return f"{pair.victim} by stores to {pair.writer} ({sharing} sharing): {pair.before:,} -> {pair.after:,}"


def _time(simulation: Simulation) -> str:
    return f"{simulation.milliseconds:.1f} ms"
