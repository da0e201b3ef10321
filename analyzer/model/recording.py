# SPDX-License-Identifier: GPL-2.0-or-later
"""How a profile was recorded: the machine, the simulated caches, and what had to be dropped."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.analyzer.model.lines import CACHE_LINE_BYTES


@dataclass(frozen=True, slots=True)
class Recording:
    """The circumstances of a simulated profile; its counts are exact numbers of events, no samples.

    ``on`` is ``qemu`` or ``qemu-user``. ``nodes`` holds the NUMA node of each CPU. ``cache_bytes`` is the size of
    the private cache of a CPU, 0 for one without bound. ``quantum`` is in guest instructions. ``interleave`` is
    ``exact`` (one host thread, deterministic), ``turns`` or ``host``. ``counts`` holds totals (accesses,
    instructions) and everything that was dropped, by name.
    """

    on: str
    command: tuple[str, ...]
    nodes: tuple[int, ...]
    machine: str
    line_bytes: int = CACHE_LINE_BYTES
    ring: str = "kernel"
    quantum: int = 0
    interleave: str = "exact"
    seed: int | None = None
    cache_bytes: int = 0
    adjacent: bool = False
    kernel_release: str | None = None
    build_id: str | None = None
    versions: tuple[tuple[str, str], ...] = ()
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """Misses of one instruction for which one writer is to blame: it had taken the line from the victim's CPU.

    Offsets and widths are bytes in the line. ``true_sharing`` tells that the victim's own bytes had been written
    elsewhere since it last held the line; otherwise only its neighbours had. ``local`` and ``remote`` count misses
    by whether both CPUs are of one NUMA node. ``shadowed`` counts accesses that hit only because a miss elsewhere on
    the line had just brought it back: apart from the bytes that missed, they would have missed themselves.
    """

    offset: int
    width: int
    function: str | None
    writer_offset: int
    writer_width: int
    writer_function: str | None
    true_sharing: bool
    local: int
    remote: int = 0
    stores: bool = False
    shadowed: int = 0
    code_address: int | None = None
    writer_code_address: int | None = None

    @property
    def misses(self) -> int:
        """Misses of both kinds."""
        return self.local + self.remote
