# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data files as perf writes them.

Source: ``tools/perf/Documentation/perf.data-file-format.txt`` and ``tools/perf/util/header.c``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
from perf_data.event import ATTRIBUTE_BYTES, Event
from perf_data.features import Computer, described
from perf_data.samples import SAMPLE, Chain, Samples, identifier, stream

_MAGIC = b"PERFILE2"
_HEADER_BYTES = 104


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


def write(path: Path, recording: Recording) -> None:
    """Write the file; one that exists is replaced."""
    ids = b"".join(struct.pack(f"<{len(own)}Q", *own) for own in recording.ids)
    attributes_at = _HEADER_BYTES + len(ids)
    data_at = attributes_at + len(recording.events) * (ATTRIBUTE_BYTES + 16)
    features = dict(described(recording.computer, recording.command, recording.events, recording.ids, recording.builds))
    with path.open("wb") as file:
        file.write(bytes(data_at) + recording.head)
        file.writelines(stream(recording.samples, recording.events, recording.chains))
        file.write(recording.tail)
        data_end = file.tell()
        _write_features(file, data_end, features)
        file.seek(0)
        file.write(_header(attributes_at, len(recording.events), data_at, data_end, features))
        file.write(ids + _attributes(recording))


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
