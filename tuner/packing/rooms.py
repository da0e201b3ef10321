# SPDX-License-Identifier: GPL-2.0-or-later
"""Where an item can begin at all, whatever the order: what is before it and behind it takes room."""

from __future__ import annotations

from collections import defaultdict

from linesmith.analyzer.geometry.placement import BYTE
from linesmith.tuner.packing.scene import Scene


def rooms(scene: Scene) -> tuple[tuple[int, int], ...]:
    """For each item the first bit at which it may begin, and the bit at which it must have ended."""
    items, least = scene.problem.items, scene.placer.least
    segments: dict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        segments[item.segment].append(number)
    begin = _forward(scene, segments)
    end: dict[int, int] = {}
    room = scene.placer.limit
    for segment in sorted(segments, reverse=True):
        end[segment] = room
        room -= sum(least[number] for number in segments[segment])
        pins = [items[number].pinned for number in segments[segment]]
        if len(pins) == 1 and pins[0] is not None:
            room = min(room, (pins[0] + 1) * BYTE - 1)
    return tuple((begin[item.segment], end[item.segment]) for item in items)


def _forward(scene: Scene, segments: dict[int, list[int]]) -> dict[int, int]:
    """The earliest bit of each segment: those before it are at best without a hole, and one alone is placed exactly."""
    found = {}
    at = 0
    for segment in sorted(segments):
        found[segment] = at
        numbers = segments[segment]
        if len(numbers) > 1:
            at += sum(scene.placer.least[number] for number in numbers)
            continue
        pinned = scene.problem.items[numbers[0]].pinned
        at = max(at, 0 if pinned is None else pinned * BYTE)
        at += scene.placer.step(numbers[0], at).end
    return found
