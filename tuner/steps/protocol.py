# SPDX-License-Identifier: GPL-2.0-or-later
"""One line in the caches of several CPUs, as MESI has it: what an access finds, and the states behind it.

Source: Papamarcos and Patel, "A low-overhead coherence solution for multiprocessors with private cache memories"
(ISCA 1984). Caches are without bound: nothing is evicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from linesmith.analyzer.model import LineState

# The states of one line by CPU; a CPU that never touched it holds it as little as an invalid copy.
States = Mapping[str, LineState]


class Event(StrEnum):
    """What an access makes the caches do."""

    HIT = "hit"
    COLD = "from memory"
    SHARED = "a clean copy"
    MODIFIED = "modified elsewhere"
    UPGRADE = "copies invalidated"
    TAKEN = "taken, modified"


@dataclass(frozen=True, slots=True)
class Effect:
    """An access and its result; ``other`` is the CPU whose copy was fetched or invalidated, empty if there is none."""

    event: Event
    other: str
    states: States


def access(states: States, cpu: str, writes: bool) -> Effect:
    """The effect of one access by ``cpu`` on the line with these ``states``."""
    return _write(states, cpu) if writes else _read(states, cpu)


def _read(states: States, cpu: str) -> Effect:
    if _state(states, cpu) is not LineState.INVALID:
        return Effect(Event.HIT, "", states)
    others = _holders(states, cpu)
    if not others:
        return Effect(Event.COLD, "", {**states, cpu: LineState.EXCLUSIVE})
    event = Event.MODIFIED if _state(states, others[0]) is LineState.MODIFIED else Event.SHARED
    return Effect(event, others[0], {**states, **dict.fromkeys((*others, cpu), LineState.SHARED)})


def _write(states: States, cpu: str) -> Effect:
    own, others = _state(states, cpu), _holders(states, cpu)
    after = {**states, **dict.fromkeys(others, LineState.INVALID), cpu: LineState.MODIFIED}
    if own in (LineState.MODIFIED, LineState.EXCLUSIVE):
        return Effect(Event.HIT, "", after)
    if own is LineState.SHARED:
        return Effect(Event.UPGRADE if others else Event.HIT, "".join(others[:1]), after)
    if not others:
        return Effect(Event.COLD, "", after)
    taken = _state(states, others[0]) is LineState.MODIFIED
    return Effect(Event.TAKEN if taken else Event.SHARED, others[0], after)


def _state(states: States, cpu: str) -> LineState:
    return states.get(cpu, LineState.INVALID)


def _holders(states: States, cpu: str) -> list[str]:
    """The other CPUs with a valid copy, in the order of their names."""
    return sorted(one for one, state in states.items() if one != cpu and state is not LineState.INVALID)
