# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces written by hand, byte for byte as plugins/native/coherence/trace_format.h describes version 1."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SETTINGS, EVENTS, SITES, END = 1, 2, 3, 4
KINDS = "LSA"
WIDTH_FOLLOWS = 7 << 2
# A block has at most 2**18 bytes, an event at most 20.
BLOCK_EVENTS = 13_000


@dataclass(frozen=True)
class Step:
    """One access of ``width`` bytes by an instruction at ``code``; ``kind`` is L, S or A."""

    cpu: int
    kind: str
    address: int
    width: int = 8
    code: int = 0


def turns(steps: Sequence[Step], rounds: int) -> list[Step]:
    """The steps, over and over; each is a slice of its own where the CPU changes."""
    return [step for _ in range(rounds) for step in steps]


def write_trace(path: Path, steps: Iterable[Step], nodes: Sequence[int], dropped: int = 0) -> Path:
    """A trace of the steps on a machine with a CPU of each node in ``nodes``; ``dropped`` is what its end tells."""
    taken = list(steps)
    codes = sorted({step.code for step in taken})
    slices = sum(1 for one, other in zip(taken, [None, *taken], strict=False) if not other or one.cpu != other.cpu)
    distances = (new - old for old, new in zip([0, *codes], codes, strict=False))
    end = (len(taken) + dropped, len(taken), slices, dropped)
    blocks = [
        _block(SETTINGS, bytes((1, len(nodes), *nodes)), 1),
        *_event_blocks(taken, codes),
        _block(SITES, b"".join(bytes(_varint(_zigzag(one))) for one in distances), len(codes)),
        _block(END, b"".join(bytes(_varint(one)) for one in end), 1),
    ]
    path.write_bytes(b"LSMTRACE" + b"".join(blocks))
    return path


def _event_blocks(steps: Sequence[Step], codes: Sequence[int]) -> Iterator[bytes]:
    """Each block begins with the number of its first slice and that slice's CPU."""
    number, cpu = 0, steps[0].cpu if steps else 0
    for start in range(0, len(steps), BLOCK_EVENTS):
        chunk = steps[start : start + BLOCK_EVENTS]
        number += chunk[0].cpu != cpu
        body = bytes((*_varint(number), *_varint(chunk[0].cpu), *_events(chunk, codes)))
        yield _block(EVENTS, body, len(chunk))
        number += sum(one.cpu != other.cpu for one, other in pairwise(chunk))
        cpu = chunk[-1].cpu


def _events(steps: Sequence[Step], codes: Sequence[int]) -> Iterator[int]:
    address = site = 0
    cpu = steps[0].cpu
    for step in steps:
        if step.cpu != cpu:
            cpu = step.cpu
            yield 3 | cpu << 2
        yield KINDS.index(step.kind) | WIDTH_FOLLOWS
        yield step.width
        number = codes.index(step.code)
        yield from _varint(_zigzag(number - site))
        yield from _varint(_zigzag(_wrapped(step.address - address)))
        address, site = step.address, number


def _block(kind: int, data: bytes, entries: int) -> bytes:
    packed = zlib.compress(data)
    return struct.pack("<5I", kind, len(data), len(packed), zlib.crc32(packed), entries) + packed


def _wrapped(difference: int) -> int:
    """The difference of two 64-bit addresses as a signed 64-bit number."""
    return (difference + (1 << 63)) % (1 << 64) - (1 << 63)


def _zigzag(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def _varint(value: int) -> Iterator[int]:
    while value >= 0x80:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
