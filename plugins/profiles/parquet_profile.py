# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles as Parquet: one row a line with its accesses and conflicts; what there is once is JSON in the metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from linesmith.analyzer.model import Profile, SharedLine
from linesmith.plugins.profiles.record_columns import array_of, records_of
from linesmith.plugins.profiles.terse import terse

VERSION = 2
_MARK = b"linesmith-profile"
_REST = b"profile"
# Lines go into row groups of about so many accesses and conflicts, so that writing takes the memory of one group.
_GROUP = 65_536


# What libraries raise for damaged files; ``OSError`` is how Arrow calls bytes that it cannot make sense of.
DAMAGE = (ValueError, OSError, MemoryError, UnicodeError, pa.ArrowException, msgspec.MsgspecError)


class NoProfile(Exception):
    """A Parquet file that is no profile of linesmith."""


class OtherVersion(Exception):
    """A profile of another version."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


def encode_parquet(profile: Profile) -> bytes:
    """The file; raises ``OverflowError`` or one of ``DAMAGE`` for what it cannot hold."""
    rest = msgspec.json.encode(terse(replace(profile, lines=())))
    schema = _batch(()).schema.with_metadata({_MARK: str(VERSION).encode(), _REST: rest})
    file = BytesIO()
    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        for lines in _groups(profile.lines):
            writer.write_batch(_batch(lines).replace_schema_metadata(schema.metadata))
    return file.getvalue()


def _batch(lines: Sequence[SharedLine]) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(array_of(SharedLine, lines))


def _groups(lines: Sequence[SharedLine]) -> Iterator[Sequence[SharedLine]]:
    begin = size = 0
    for number, line in enumerate(lines):
        size += 1 + len(line.accesses) + len(line.conflicts)
        if size >= _GROUP:
            yield lines[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(lines):
        yield lines[begin:]


def decode_parquet(path: Path) -> Profile:
    """The profile in the file, still under the name that it was written with.

    Raises ``NoProfile``, ``OtherVersion``, and one of ``DAMAGE`` for a damaged file.
    """
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        metadata = file.schema_arrow.metadata or {}
        if _MARK not in metadata:
            raise NoProfile
        if metadata[_MARK] != str(VERSION).encode():
            raise OtherVersion(int(metadata[_MARK]))
        profile = msgspec.json.decode(metadata.get(_REST, b""), type=Profile)
        lines = [line for batch in file.iter_batches() for line in records_of(SharedLine, batch.to_struct_array())]
    return replace(profile, lines=tuple(lines))
