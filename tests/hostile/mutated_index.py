# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved indices, damaged within their checksums and across them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from c_source import compiled
from hostile.mutated_elf import SOURCE, shown
from hostile.mutation import EXTREMES, Kind, Mutation, Sample, flipped, moved, truncated
from linesmith_command import linesmith

from linesmith.analyzer.layouts.diff import changes, paired
from linesmith.analyzer.layouts.store import IndexedLayouts, SavedIndex, content, parsed

Record = dict[str, Any]
TEXTS = ("", "\0", "\x1b[2J", "a" * 5000, "leaf", "struct {", "{", "(*", "[", "\u2028")


def samples(folder: Path) -> Iterator[Sample]:
    """The index of one small object."""
    file = folder / "base.index"
    linesmith("index", compiled(folder, SOURCE), "-o", file, cache=folder / "cache")
    yield Sample("saved index", {file.name: file.read_bytes()}, file.name, file.name)


def _opened(file: bytes) -> tuple[SavedIndex, IndexedLayouts]:
    """What the file says."""
    head, _, rest = file[file.index(b"{") :].partition(b"\n")
    layouts = parsed(rest)
    if layouts is None:
        raise ValueError("an earlier mutation has broken the checksums")
    return msgspec.json.decode(head, type=SavedIndex), layouts


def _with(layouts: IndexedLayouts, body: bytes, **said: object) -> IndexedLayouts:
    """The index with another body and other fields of its head, and the checksum of them."""
    return IndexedLayouts(msgspec.structs.replace(layouts.head, body_crc=zlib.crc32(body), **said), body)


def with_records(file: bytes, parts: Sequence[bytes], names: Mapping[str, tuple[int, ...]], digests: bytes) -> bytes:
    """The saved index with these records in place of its own."""
    saved, layouts = _opened(file)
    ends = tuple(accumulate(map(len, parts)))
    return content(saved, _with(layouts, b"".join(parts), ends=ends, names=dict(names), digests=digests))


def _with_sound_checksums(change: Callable[[Random, IndexedLayouts], IndexedLayouts]) -> Mutation:
    """The change to what an index says, written with the checksums of what it then says."""

    def mutate(random: Random, file: bytearray) -> None:
        saved, layouts = _opened(bytes(file))
        file[:] = content(saved, change(random, layouts))

    return mutate


def _in_a_record(change: Callable[[Random, list[Record]], None]) -> Mutation:
    def changed(random: Random, layouts: IndexedLayouts) -> IndexedLayouts:
        parts = [bytes(layouts.body[start:end]) for start, end in pairwise((0, *layouts.head.ends))]
        records = [json.loads(part) for part in parts]
        change(random, records)
        parts = [json.dumps(one, ensure_ascii=random.random() < 0.5).encode() for one in records]
        return _with(layouts, b"".join(parts), ends=tuple(accumulate(map(len, parts))))

    return _with_sound_checksums(changed)


def _place(random: Random, records: list[Record]) -> Record:
    """A record or a member of one."""
    record = random.choice(records)
    return random.choice([record, *record["members"]])


def _number(random: Random, records: list[Record]) -> None:
    place = _place(random, records)
    field = random.choice([name for name, value in place.items() if isinstance(value, int)])
    place[field] = random.choice((*EXTREMES, place[field] * 2, place[field] + 1, 1 << 47, 1 << 70, 1.5, None))


def _reference(random: Random, records: list[Record]) -> None:
    member = random.choice([member for record in records for member in record["members"]])
    member["record"] = random.randrange(-1, len(records) + 1)


def _text(random: Random, records: list[Record]) -> None:
    place = _place(random, records)
    place[random.choice([name for name, value in place.items() if isinstance(value, str)])] = random.choice(TEXTS)


def _field(random: Random, records: list[Record]) -> None:
    """A field that is gone, or one that records have and members do not."""
    place = _place(random, records)
    if random.random() < 0.5:
        del place[random.choice(list(place))]
    else:
        place.update(random.choice(({"dimensions": [0, 1 << 40, 7]}, {"bit_size": 5}, {"flexible": True}, {"kind": 0})))


def _order(random: Random, records: list[Record]) -> None:
    members = random.choice(records)["members"]
    random.shuffle(members)
    members.extend(members[: random.choice((0, 1, 500))])


def _head(random: Random, layouts: IndexedLayouts) -> IndexedLayouts:
    """Other offsets of the records, other names, other digests."""
    head, body = layouts.head, bytes(layouts.body)
    ends, names, digests = list(head.ends), dict(head.names), head.digests
    which = random.randrange(4)
    if which == 0:
        ends[random.randrange(len(ends))] = random.choice((0, -1, len(body), 1 << 40, ends[0] + 1))
    elif which == 1:
        names[random.choice(list(names))] = tuple(random.randrange(-2, len(ends) + 2) for _ in range(3))
    elif which == 2:
        digests = digests[: random.randrange(len(digests))]
    else:
        ends = ends[: random.randrange(len(ends))]
    return _with(layouts, body, names=names, ends=tuple(ends), digests=digests)


MUTATIONS = (
    flipped,
    truncated,
    moved,
    _with_sound_checksums(_head),
    *(_in_a_record(change) for change in (_number, _number, _reference, _text, _field, _order)),
)


def _layouts(file: Path) -> None:
    reading = shown(file)
    chosen = tuple(reading.layouts)
    changes(reading.layouts, reading.layouts, paired(chosen, chosen[::-1]))


KIND = Kind("index", samples, MUTATIONS, (_layouts,))
