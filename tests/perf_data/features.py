# SPDX-License-Identifier: GPL-2.0-or-later
"""Feature sections of a perf.data header: on what machine, with which command it was recorded."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from perf_data.event import ATTRIBUTE_BYTES, Event

_STRING_ALIGNMENT = 64


# Numbers of the sections (``tools/perf/util/header.h``).
Feature = IntEnum(
    "Feature",
    "BUILD_ID HOSTNAME RELEASE VERSION MACHINE CPUS CPU_MODEL CPU_IDENTITY MEMORY COMMAND EVENTS CPU_TOPOLOGY "
    "NUMA_TOPOLOGY BRANCH_STACK PMUS",
    start=2,
)


@dataclass(frozen=True, slots=True)
class Computer:
    """Where it was recorded. ``nodes`` has the CPUs of each node; blocks of memory go round the nodes in turn."""

    machine: str = "x86_64"
    cpu: str = "GenuineIntel,6,85,7"
    release: str = "6.1.0-56-cloud-amd64"
    hostname: str = "example"
    nodes: tuple[tuple[int, ...], ...] = (tuple(range(8)), tuple(range(8, 16)))
    block_bytes: int = 1 << 27
    blocks: int = 256

    @property
    def cpus(self) -> int:
        """How many there are."""
        return sum(map(len, self.nodes))

    def node_of(self, cpu: int) -> int:
        """The node of a CPU."""
        return next(node for node, cpus in enumerate(self.nodes) if cpu in cpus)


def string(text: str) -> bytes:
    """A length and a string padded to 64 bytes."""
    raw = text.encode("utf-8", "surrogateescape") + b"\0"
    raw += bytes(-len(raw) % _STRING_ALIGNMENT)
    return struct.pack("<I", len(raw)) + raw


def strings(texts: Sequence[str]) -> bytes:
    """A count and as many strings."""
    return struct.pack("<I", len(texts)) + b"".join(map(string, texts))


def described(
    computer: Computer, command: Sequence[str], events: Sequence[Event], ids: Sequence[Sequence[int]], builds: bytes
) -> Mapping[int, bytes]:
    """The sections; ``builds`` are records of ``records.build_id``."""
    cpus = computer.cpus
    return {
        Feature.BUILD_ID: builds,
        Feature.HOSTNAME: string(computer.hostname),
        Feature.RELEASE: string(computer.release),
        Feature.VERSION: string("6.1.0"),
        Feature.MACHINE: string(computer.machine),
        Feature.CPUS: struct.pack("<II", cpus, cpus),
        Feature.CPU_IDENTITY: string(computer.cpu),
        Feature.COMMAND: strings(command),
        Feature.EVENTS: _events(events, ids),
        Feature.NUMA_TOPOLOGY: _nodes(computer),
    }


def _events(events: Sequence[Event], ids: Sequence[Sequence[int]]) -> bytes:
    found = struct.pack("<II", len(events), ATTRIBUTE_BYTES)
    for event, own in zip(events, ids, strict=True):
        numbers = struct.pack(f"<{len(own)}Q", *own)
        found += event.attribute() + struct.pack("<I", len(own)) + string(event.name) + numbers
    return found


def _listed(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def _nodes(computer: Computer) -> bytes:
    kilobytes = computer.blocks * computer.block_bytes >> 10
    found = struct.pack("<I", len(computer.nodes))
    for number, cpus in enumerate(computer.nodes):
        found += struct.pack("<IQQ", number, kilobytes // len(computer.nodes), kilobytes // 8) + string(_listed(cpus))
    return found
