# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles as Parquet: one row a line with its accesses and conflicts; what there is once is JSON in the metadata.

A field has one column, a field of records a list of structs; integers are ``int64``, addresses ``uint64``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from io import BytesIO
from itertools import accumulate, chain, pairwise, repeat
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from linesmith.analyzer.model import CacheLine, Profile
from linesmith.plugins.profiles.recorded import terse

VERSION = 2
_MARK = b"linesmith-profile"
_REST = b"profile"
# Lines go into row groups of about so many accesses and conflicts, so that writing takes the memory of one group.
_GROUP = 65_536
_ADDRESSES = frozenset(("address", "code_address", "writer_code_address", "returns"))
_PLAIN = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), float: pa.float64()}


@dataclass(frozen=True, slots=True)
class _ArrowField:
    """A field of a record: ``kind`` is what it holds one or, if ``many``, several of."""

    name: str
    kind: type[Any]
    many: bool
    may_be_none: bool
    default: object

    @property
    def is_list(self) -> bool:
        """Whether the column is one of lists; a record that may be absent is one of at most one."""
        return self.many or self.is_record

    @property
    def is_record(self) -> bool:
        return is_dataclass(self.kind)

    @property
    def type(self) -> pa.DataType:
        return pa.uint64() if self.name in _ADDRESSES else _PLAIN[self.kind]


def _fields_of(kind: type[Any]) -> tuple[_ArrowField, ...]:
    hints = get_type_hints(kind)
    found = []
    for one in fields(kind):
        hint, parts = hints[one.name], get_args(hints[one.name])
        many = get_origin(hint) is tuple
        held = next((part for part in parts if part is not NoneType), hint)
        found.append(_ArrowField(one.name, held, many, not many and NoneType in parts, one.default))
    return tuple(found)


def array_of(kind: type[Any], records: Sequence[Any]) -> pa.StructArray:
    """The records as one array; raises ``OverflowError`` or ``pa.ArrowException`` for what 64 bits do not hold."""
    described = _fields_of(kind)
    columns = [_column(one, list(map(attrgetter(one.name), records))) for one in described]
    return pa.StructArray.from_arrays(columns, [one.name for one in described])


def records_of(kind: type[Any], array: pa.StructArray) -> list[Any]:
    """The records of an array, whose absent columns are at their defaults.

    Raises ``ValueError`` where its columns are not those of such a record.
    """
    described = _fields_of(kind)
    names = [one.name for one in array.type]
    needed = {one.name for one in described if one.default is MISSING}
    if not needed <= set(names) <= {one.name for one in described} or len(set(names)) < len(names):
        raise ValueError(f"its columns are not those of a {kind.__name__}")
    if array.null_count:
        raise ValueError(f"it has a {kind.__name__} that is null")
    found = dict(zip(names, array.flatten(), strict=True))
    columns = [_values(one, found[one.name]) if one.name in found else repeat(one.default) for one in described]
    return [kind(*row) for row, _ in zip(zip(*columns, strict=False), range(len(array)), strict=False)]


def _column(field: _ArrowField, values: Sequence[Any]) -> pa.Array:
    if not field.is_list:
        return pa.array(values, field.type)
    lists = values if field.many else [() if value is None else (value,) for value in values]
    ends = pa.array(list(accumulate(map(len, lists), initial=0)), pa.int32())
    flat = list(chain.from_iterable(lists))
    inner = array_of(field.kind, flat) if field.is_record else pa.array(flat, field.type)
    return pa.ListArray.from_arrays(ends, inner)


def _values(field: _ArrowField, array: pa.Array) -> Iterable[Any]:
    """The values of a field, one a record."""
    if not field.is_list:
        return _scalars(field, array, field.may_be_none)
    if not pa.types.is_list(array.type) or array.null_count:
        raise ValueError(f"its column {field.name} is none of lists")
    flat = array.flatten()
    found = records_of(field.kind, flat) if field.is_record else _scalars(field, flat, may_be_none=False)
    ends = list(accumulate(array.value_lengths().to_pylist(), initial=0))
    lists = (tuple(found[begin:end]) for begin, end in pairwise(ends))
    return lists if field.many else (one[0] if one else None for one in lists)


def _scalars(field: _ArrowField, array: pa.Array, may_be_none: bool) -> list[Any]:
    if array.type != field.type:
        raise ValueError(f"its column {field.name} has the type {array.type}, not {field.type}")
    if array.null_count and not may_be_none:
        raise ValueError(f"its column {field.name} lacks a value")
    found: list[Any] = array.to_pylist()
    return found


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


def _batch(lines: Sequence[CacheLine]) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(array_of(CacheLine, lines))


def _groups(lines: Sequence[CacheLine]) -> Iterator[Sequence[CacheLine]]:
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
        lines = [line for batch in file.iter_batches() for line in records_of(CacheLine, batch.to_struct_array())]
    return replace(profile, lines=tuple(lines))
