# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data files as perf writes them, and what it writes into a pipe.

Source: ``tools/perf/Documentation/perf.data-file-format.txt`` and ``tools/perf/util/header.c``.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from perf_data.event import ATTRIBUTE_BYTES, Event
from perf_data.features import Computer, described
from perf_data.records import Kind, record
from perf_data.samples import SAMPLE, Chain, Samples, identifier, stream

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
