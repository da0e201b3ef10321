# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data files as perf writes them, with the sections of their headers, and what it writes into a pipe.

Source: ``tools/perf/Documentation/perf.data-file-format.txt`` and ``tools/perf/util/header.c``.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import IO

import numpy as np
from perf_data.records import ATTRIBUTE_BYTES, Event, Kind, record
from perf_data.samples import SAMPLE, Chain, Samples, identifier, stream

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
        return sum(map(len, self.nodes))

    def node_of(self, cpu: int) -> int:
        return next(node for node, cpus in enumerate(self.nodes) if cpu in cpus)


def string(text: str) -> bytes:
    """A length and a string padded to 64 bytes."""
    raw = text.encode("utf-8", "surrogateescape") + b"\0"
    raw += bytes(-len(raw) % _STRING_ALIGNMENT)
    return struct.pack("<I", len(raw)) + raw


def strings(texts: Sequence[str]) -> bytes:
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


_MAGIC = b"PERFILE2"
_HEADER_BYTES = 104
_PIECE = 5003


@dataclass(frozen=True, slots=True)
class Recording:
    """What a perf.data file holds; ``head`` and ``tail`` are records before and behind the samples."""

    events: Sequence[Event]
    samples: Samples = field(default_factory=lambda: np.empty(0, dtype=SAMPLE))
    chains: Sequence[Chain] = ()
    computer: Computer = field(default_factory=Computer)
    command: Sequence[str] = ("/usr/bin/perf", "c2c", "record", "-a", "--", "sleep", "10")
    head: bytes = b""
    tail: bytes = b""
    builds: bytes = b""

    @property
    def ids(self) -> list[list[int]]:
        """The ids of each event, one a CPU."""
        return [[int(identifier(event, cpu)) for cpu in range(self.computer.cpus)] for event in range(len(self.events))]


def write(path: Path, recording: Recording, packed: Kind | None = None) -> None:
    """Write the file, its records compressed into those of kind ``packed``; one that exists is replaced."""
    ids = b"".join(struct.pack(f"<{len(own)}Q", *own) for own in recording.ids)
    attributes_at = _HEADER_BYTES + len(ids)
    data_at = attributes_at + len(recording.events) * (ATTRIBUTE_BYTES + 16)
    features = dict(described(recording.computer, recording.command, recording.events, recording.ids, recording.builds))
    with path.open("wb") as file:
        file.write(bytes(data_at))
        file.writelines(_records(recording, packed))
        data_end = file.tell()
        _write_features(file, data_end, features)
        file.seek(0)
        file.write(_header(attributes_at, len(recording.events), data_at, data_end, features))
        file.write(ids + _attributes(recording))


def write_pipe(path: Path, recording: Recording, packed: Kind | None = None) -> None:
    """Write what ``perf record -o -`` does: the header's parts are records too."""
    with path.open("wb") as file:
        file.write(_MAGIC + struct.pack("<Q", 16))
        for event, own in zip(recording.events, recording.ids, strict=True):
            file.write(record(Kind.HEADER_ATTR, 0, event.attribute() + struct.pack(f"<{len(own)}Q", *own)))
        sections = described(recording.computer, recording.command, recording.events, recording.ids, b"")
        for feature, body in filter(lambda section: section[1], sections.items()):
            file.write(_odd_record(Kind.FEATURE, struct.pack("<Q", feature) + body))
        file.write(recording.builds)
        file.writelines(_records(recording, packed))


def _records(recording: Recording, packed: Kind | None) -> Iterator[bytes]:
    """The records in front of the samples, the samples, those behind them; only samples are compressed."""
    yield recording.head
    samples = stream(recording.samples, recording.events, recording.chains)
    yield from _compressed(b"".join(samples), packed) if packed else samples
    yield recording.tail


def _compressed(plain: bytes, kind: Kind) -> Iterator[bytes]:
    """Parts of one zstd stream; the records in them end anywhere."""
    done = subprocess.run(("zstd", "-q", "-c"), input=plain, capture_output=True, check=True, timeout=300)
    for begin in range(0, len(done.stdout), _PIECE):
        part = done.stdout[begin : begin + _PIECE]
        if kind is Kind.COMPRESSED:
            yield _odd_record(kind, part)
        else:
            yield record(kind, 0, struct.pack("<Q", len(part)) + part)


def _odd_record(kind: Kind, body: bytes) -> bytes:
    """A record that perf makes itself and does not pad."""
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def _header(attributes_at: int, events: int, data_at: int, data_end: int, features: dict[int, bytes]) -> bytes:
    entry = ATTRIBUTE_BYTES + 16
    sections = (attributes_at, events * entry, data_at, data_end - data_at, 0, 0)
    bits = sum(1 << int(feature) for feature in features)
    return _MAGIC + struct.pack("<QQ6Q", _HEADER_BYTES, entry, *sections) + bits.to_bytes(32, "little")


def _attributes(recording: Recording) -> bytes:
    found, at = b"", _HEADER_BYTES
    for event, own in zip(recording.events, recording.ids, strict=True):
        found += event.attribute() + struct.pack("<QQ", at, len(own) * 8)
        at += len(own) * 8
    return found


def _write_features(file: IO[bytes], at: int, features: dict[int, bytes]) -> None:
    """A table of offsets and sizes, by number, then the sections."""
    table, bodies = b"", b""
    begin = at + len(features) * 16
    for _, body in sorted(features.items()):
        table += struct.pack("<QQ", begin + len(bodies), len(body))
        bodies += body
    file.write(table + bodies)
