# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles by columns: one for each field of the lines and of what is on them; what there is once is a JSON text.

A column holds a number for each value, in as few bytes as the largest needs: the value itself or, of texts and of
numbers that come again, which of the distinct ones it is. Columns that are at their default throughout are left out.
The file is ``MAGIC``, a byte with the version, and one zlib stream of a document in MessagePack.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from itertools import accumulate, chain, pairwise, repeat
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import CacheLine, Profile
from linesmith.plugins.profiles.formats import COMPACT_MAGIC
from linesmith.plugins.text import printable, printable_profile

VERSION = 3
# What bounds the memory that a file can take: its document, and records of one kind.
MOST_BYTES = 256 << 20
MOST_ROWS = 1 << 22
_LEVEL = 6
# Of numbers, by their width.
_TYPES = {0: "<f8", 1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
# Of a list of single values, the one column.
_ITEM = ""
# What msgspec, numpy and zlib raise for damaged files.
DAMAGE = (ValueError, OverflowError, TypeError, MemoryError, RecursionError, zlib.error)


class Column(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The values of one field: ``numbers`` of ``width`` bytes each, little-endian; 0 are floats of 8 bytes.

    Where there are ``distinct`` values, the numbers count these from 0. ``absent`` has a bit for each value, set where
    it is ``None``. The numbers of lists are their lengths, and ``items`` what they hold, one list after the other.
    """

    width: int
    numbers: bytes
    distinct: tuple[str | int, ...] | None = None
    absent: bytes = b""
    items: Table | None = None


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """So many records, by fields."""

    rows: int
    columns: dict[str, Column]


class ProfileColumns(msgspec.Struct, forbid_unknown_fields=True):
    """The document: the profile without its lines, as JSON, and the lines."""

    profile: bytes
    lines: Table


class OtherVersion(Exception):
    """A profile of another version."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


def terse(value: object) -> object:
    """Dataclasses as dictionaries without fields at their defaults: half the size."""
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: terse(item) for name, item, default in found if default is MISSING or item != default}
    return [terse(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class ColumnField:
    """A field of a record: ``kind`` is what it holds one or, if ``many``, several of."""

    name: str
    kind: type[Any]
    many: bool
    may_be_none: bool
    default: object

    @property
    def is_list(self) -> bool:
        """Whether it is stored as lists; a record that may be absent is one of at most one."""
        return self.many or is_dataclass(self.kind)


def fields_of(kind: type[Any]) -> tuple[ColumnField, ...]:
    """The fields of a record, as columns hold them."""
    hints = get_type_hints(kind)
    found = []
    for one in fields(kind):
        hint, parts = hints[one.name], get_args(hints[one.name])
        many = get_origin(hint) is tuple
        held = next((part for part in parts if part is not NoneType), hint)
        found.append(ColumnField(one.name, held, many, not many and NoneType in parts, one.default))
    return tuple(found)


# From a profile to columns.


def encode_compact(profile: Profile) -> bytes:
    """The file; raises one of ``DAMAGE`` for numbers below 0 or beyond 64 bits, and for too many records."""
    rest = msgspec.json.encode(terse(replace(profile, lines=())))
    document = msgspec.msgpack.encode(ProfileColumns(rest, _table(CacheLine, profile.lines)))
    return COMPACT_MAGIC + bytes((VERSION,)) + zlib.compress(document, _LEVEL)


def _table(kind: type[Any], records: Sequence[Any]) -> Table:
    if len(records) > MOST_ROWS:
        raise ValueError(f"it has more than {MOST_ROWS:,} records of the kind {kind.__name__}")
    columns = {}
    for field in fields_of(kind):
        values = list(map(attrgetter(field.name), records))
        if field.default is MISSING or any(value != field.default for value in values):
            columns[field.name] = _column(field, values)
    return Table(len(records), columns)


def _column(field: ColumnField, values: Sequence[Any]) -> Column:
    if not field.is_list:
        return _scalars(field.kind, values)
    lists = values if field.many else [() if value is None else (value,) for value in values]
    flat = list(chain.from_iterable(lists))
    column = _scalars(int, list(map(len, lists)))
    column.items = (
        _table(field.kind, flat) if is_dataclass(field.kind) else Table(len(flat), {_ITEM: _scalars(field.kind, flat)})
    )
    return column


def _scalars(kind: type[Any], values: Sequence[Any]) -> Column:
    absent = b""
    if None in values:
        absent = np.packbits([value is None for value in values]).tobytes()
        values = [kind() if value is None else value for value in values]
    if kind is float:
        return Column(0, np.array(values, "<f8").tobytes(), absent=absent)
    if kind is str:
        numbered = {value: number for number, value in enumerate(dict.fromkeys(values))}
        return Column(*_packed([numbered[value] for value in values]), tuple(numbered), absent)
    if min(values, default=0) < 0:
        raise OverflowError("it has a number below 0")
    numbers = np.array(values, "<u8")
    distinct, which = np.unique(numbers, return_inverse=True)
    if 2 * len(distinct) < len(numbers) and len(numbers) and distinct[-1] > np.iinfo("<u2").max:
        return Column(*_packed(which), tuple(distinct.tolist()), absent)
    return Column(*_packed(numbers), absent=absent)


def _packed(numbers: Iterable[int] | NDArray[Any]) -> tuple[int, bytes]:
    """So many bytes for each number, and the numbers."""
    found = np.asarray(numbers, "<u8")
    width = np.min_scalar_type(found.max(initial=0)).itemsize
    return width, found.astype(f"<u{width}").tobytes()


# From columns to a profile.


def decode_compact(data: bytes) -> Profile:
    """The profile of a file that begins with its mark, still under the name that it was written with.

    Raises ``OtherVersion``, and one of ``DAMAGE`` for a damaged file.
    """
    begin = len(COMPACT_MAGIC) + 1
    if data[begin - 1 : begin] != bytes((VERSION,)):
        raise OtherVersion(data[begin - 1] if len(data) >= begin else 0)
    unpacking = zlib.decompressobj()
    document = unpacking.decompress(memoryview(data)[begin:], MOST_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("it is truncated, larger than any recorder makes it, or has data after its end")
    found = msgspec.msgpack.decode(document, type=ProfileColumns)
    profile = printable_profile(msgspec.json.decode(found.profile, type=Profile))
    return replace(profile, lines=tuple(_records(CacheLine, found.lines)))


def _records(kind: type[Any], table: Table) -> list[Any]:
    described = fields_of(kind)
    needed = {one.name for one in described if one.default is MISSING}
    if not needed <= table.columns.keys() <= {one.name for one in described} or not 0 <= table.rows <= MOST_ROWS:
        raise ValueError(f"its columns are not those of a {kind.__name__}")
    made = [object.__new__(kind) for _ in range(table.rows)]
    for field in described:
        column = table.columns.get(field.name)
        values = repeat(field.default) if column is None else _values(field, column, table.rows)
        # A column at a time, where a constructor would take a record at a time: a third of the time.
        deque(map(getattr(kind, field.name).__set__, made, values), maxlen=0)
    return made


def _values(field: ColumnField, column: Column, rows: int) -> Iterable[Any]:
    """The values of a field, one a record."""
    if not field.is_list:
        return _items(field, column, rows)
    lengths, items = _numbers(column, rows), column.items
    if items is None or int(lengths.sum()) != items.rows or (not field.many and lengths.max(initial=0) > 1):
        raise ValueError(f"its column {field.name} is not a list")
    if is_dataclass(field.kind):
        found = _records(field.kind, items)
    elif items.columns.keys() == {_ITEM}:
        found = _items(replace(field, may_be_none=False), items.columns[_ITEM], items.rows)
    else:
        raise ValueError(f"its column {field.name} is not a list")
    ends = accumulate(lengths.tolist(), initial=0)
    lists = (tuple(found[begin:end]) for begin, end in pairwise(ends))
    return lists if field.many else (one[0] if one else None for one in lists)


def _items(field: ColumnField, column: Column, rows: int) -> list[Any]:
    """Single values."""
    numbers = _numbers(column, rows)
    kinds = {type(one) for one in column.distinct or ()}
    is_float, as_texts = column.width == 0, field.kind is str
    if is_float != (field.kind is float) or as_texts != (column.distinct is not None and kinds <= {str}):
        raise ValueError(f"its column {field.name} has values of another kind")
    if is_float and not np.isfinite(numbers).all():
        raise ValueError(f"its column {field.name} has what is not a number")
    found: NDArray[Any] = numbers.astype(bool) if field.kind is bool else numbers
    if column.distinct is not None:
        if numbers.max(initial=0) >= max(len(column.distinct), 1) or kinds - {str, field.kind}:
            raise ValueError(f"its column {field.name} has fewer values than counted")
        if any(isinstance(one, int) and one < 0 for one in column.distinct):
            raise ValueError(f"its column {field.name} has a number below 0")
        distinct = (printable(one) if isinstance(one, str) else one for one in column.distinct)
        found = np.array((*distinct, None), object)[numbers] if rows else numbers
    if column.absent:
        gone = np.unpackbits(np.frombuffer(column.absent, np.uint8), count=rows)
        if not field.may_be_none or len(column.absent) != (rows + 7) // 8:
            raise ValueError(f"its column {field.name} lacks a value")
        found = found.astype(object)
        found[gone.astype(bool)] = None
    values: list[Any] = found.tolist()
    return values


def _numbers(column: Column, rows: int) -> NDArray[Any]:
    if column.width not in _TYPES or len(column.numbers) != rows * (column.width or 8):
        raise ValueError("a column has another number of values than records")
    return np.frombuffer(column.numbers, _TYPES[column.width])
