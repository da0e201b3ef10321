# SPDX-License-Identifier: GPL-2.0-or-later
"""How a recording came about, as its profile tells it."""

from __future__ import annotations

import platform

from linesmith.analyzer.errors import NotRecorded
from linesmith.analyzer.model import Order, Recording
from linesmith.plugins.recordings.text import RecordingText


def circumstances(order: Order, text: RecordingText, on: str, qemu: str, build_id: str | None) -> Recording:
    """The settings and counts of a recording made ``on`` ``qemu`` or ``qemu-user``; ``qemu`` is its version.

    Raises ``NotRecorded`` when a setting is missing.
    """
    settings = text.settings
    try:
        return Recording(
            on=on,
            command=order.command,
            nodes=_nodes(text),
            machine=settings["target"],
            line_bytes=int(settings["line_bytes"]),
            ring=settings["ring"],
            quantum=int(settings["quantum"]),
            interleave=settings["interleave"],
            seed=order.emulation.seed,
            cache_bytes=int(settings["cache_bytes"]),
            adjacent=settings["adjacent"] == "1",
            build_id=build_id,
            versions=(("qemu", qemu), ("host", platform.platform())),
            counts=tuple(text.counts.items()),
        )
    except (KeyError, ValueError) as error:
        raise NotRecorded(f"the recording lacks a setting ({error}); reinstall linesmith and record again") from error


def _nodes(text: RecordingText) -> tuple[int, ...]:
    """The node of each CPU; a program has as many CPUs as threads were seen."""
    if text.settings.get("mode") == "system":
        return tuple(node for _, node in sorted(text.nodes.items()))
    seen = max((row.cpu for row in text.accesses), default=0) + 1
    return tuple(text.nodes.get(cpu, 0) for cpu in range(seen))
