# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map: one row for each access, and the orders in which questions need them.

A place is a distinct (type, offset, width); place 0 stands for what is not known. An entry says that the accesses
to a place fall into a record, perhaps one that lies deep in the type of the place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.model import AccessCounts, AccessKind, AccessOutcome, CodeAccess


@dataclass(frozen=True, slots=True)
class NameTable:
    """NameTable by number, kept as one block of bytes: read one at a time, and searched without reading any.

    UTF-8 in ``heap``, a zero byte before the first name and behind each; ``ends`` are the places of the latter.
    """

    heap: NDArray[np.uint8]
    ends: NDArray[np.uint64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> NameTable:
        """The texts in order; a zero inside one becomes the sign for what cannot be shown."""
        encoded = [text.replace("\0", "\ufffd").encode("utf-8", "replace") for text in texts]
        heap = b"\0" + b"".join(one + b"\0" for one in encoded)
        return cls(np.frombuffer(heap, np.uint8), np.cumsum([len(one) + 1 for one in encoded], dtype=np.uint64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        begin = int(self.ends[number - 1]) + 1 if number else 1
        return self.heap[begin : int(self.ends[number])].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.heap.tobytes().decode("utf-8", "replace").split("\0")[1:-1])

    def called(self, name: str) -> list[int]:
        """The numbers of the names that are ``name``, or a clone of it as compilers call them (``name.isra.0``)."""
        heap, stem = self.heap.tobytes(), b"\0" + name.encode("utf-8", "replace")
        found = []
        for text in (stem + b"\0", stem + b"."):
            place = heap.find(text)
            while place >= 0:
                found.append(int(np.searchsorted(self.ends, np.uint64(place), side="right")))
                place = heap.find(text, place + 1)  # two may share the zero between them
        return sorted(found)


# What columns of the addresses that are handed on begin with.
_HANDED = "handed/"
KINDS = tuple(AccessKind)
OUTCOMES = tuple(AccessOutcome)


@dataclass(frozen=True, slots=True, eq=False)
class AccessMap:
    """Columns; those with the same prefix are of equal length.

    Rows, by address: ``address``, ``function``, ``chain`` (inlined code), ``file``, ``line`` (0: not known),
    ``place``, ``width`` (bytes, 0: not known), ``kind``, ``outcome``, ``variable`` (0: none).
    ``place_rows`` are all rows by place, those of place ``p`` between ``place_starts[p]`` and ``place_starts[p + 1]``;
    ``function_rows`` likewise. ``entry_*`` are sorted by layout: bytes of ``entry_offset`` into the record, which may
    be negative for a wide access, and under which path the type of the place holds it.
    ``static_*`` are variables with static storage, called as in ``statics``, by address (those of threads last, with
    their offset in the thread's block): their ``bytes`` (0: an open array), and of what they are arrays of, or of
    themselves, the bytes (``element``) and the record (``layout``, -1: none).

    ``handed`` has a row for each address of a member that a call hands on: ``variable`` is the function that gets it.
    """

    address: NDArray[np.uint64]
    function: NDArray[np.uint32]
    chain: NDArray[np.uint32]
    file: NDArray[np.uint32]
    line: NDArray[np.uint32]
    place: NDArray[np.uint32]
    width: NDArray[np.uint16]
    kind: NDArray[np.uint8]
    outcome: NDArray[np.uint8]
    variable: NDArray[np.uint32]
    place_type: NDArray[np.uint32]
    place_offset: NDArray[np.int32]
    place_width: NDArray[np.uint16]
    place_starts: NDArray[np.uint64]
    place_rows: NDArray[np.uint32]
    entry_layout: NDArray[np.uint32]
    entry_place: NDArray[np.uint32]
    entry_offset: NDArray[np.int32]
    entry_path: NDArray[np.uint32]
    function_low: NDArray[np.uint64]
    function_high: NDArray[np.uint64]
    function_starts: NDArray[np.uint64]
    function_rows: NDArray[np.uint32]
    chain_starts: NDArray[np.uint64]
    chain_functions: NDArray[np.uint32]
    static_address: NDArray[np.uint64]
    static_bytes: NDArray[np.uint64]
    static_element: NDArray[np.uint64]
    static_layout: NDArray[np.int64]
    static_of_thread: NDArray[np.uint8]
    functions: NameTable
    inlined: NameTable
    files: NameTable
    types: NameTable
    variables: NameTable
    statics: NameTable
    place_path: NameTable
    paths: NameTable
    handed: AccessMap | None = None

    def __len__(self) -> int:
        return len(self.address)

    def rows_of_place(self, place: int) -> NDArray[np.uint32]:
        """The rows that touch ``place``, by address."""
        return self.place_rows[int(self.place_starts[place]) : int(self.place_starts[place + 1])]

    def rows_of_function(self, function: int) -> NDArray[np.uint32]:
        """The rows of a function's code, by address."""
        return self.function_rows[int(self.function_starts[function]) : int(self.function_starts[function + 1])]

    def entries_of(self, layout_id: int) -> tuple[int, int]:
        """The first entry of the layout, and the one behind its last."""
        # A number of another type would have the whole column copied.
        first, last = self.entry_layout.searchsorted(np.array((layout_id, layout_id + 1), self.entry_layout.dtype))
        return int(first), int(last)

    def chain_of(self, chain: int) -> tuple[str, ...]:
        """The names of the inlined functions, outermost first."""
        begin, end = int(self.chain_starts[chain]), int(self.chain_starts[chain + 1])
        return tuple(self.inlined[int(number)] for number in self.chain_functions[begin:end])

    def into(self, function: int, address: int) -> int | None:
        """Bytes from the start of the function; ``None`` where the address lies in another part of it."""
        low, high = int(self.function_low[function]), int(self.function_high[function])
        return address - low if low <= address < high else None

    def access(self, row: int) -> CodeAccess:
        """One row as a value."""
        function, place = int(self.function[row]), int(self.place[row])
        address, variable = int(self.address[row]), int(self.variable[row])
        return CodeAccess(
            address=address,
            function=self.functions[function],
            into=self.into(function, address),
            kind=KINDS[self.kind[row]],
            width=int(self.width[row]),
            outcome=OUTCOMES[self.outcome[row]],
            inlined=self.chain_of(int(self.chain[row])),
            file=self.files[int(self.file[row])],
            line=int(self.line[row]) or None,
            type=self.types[int(self.place_type[place])] if place else None,
            offset=int(self.place_offset[place]) if place else None,
            path=self.place_path[place] if OUTCOMES[self.outcome[row]].resolved else "",
            variable=self.variables[variable] if variable else None,
        )

    def accesses(self, rows: Iterable[int]) -> tuple[CodeAccess, ...]:
        """Some rows as values."""
        return tuple(self.access(int(row)) for row in rows)

    def counts(self, rows: NDArray[np.uint32]) -> AccessCounts:
        """How many of the rows are of each kind."""
        return AccessCounts(*(int(count) for count in np.bincount(self.kind[rows], minlength=len(KINDS))))


def as_arrays(accesses: AccessMap) -> dict[str, NDArray[np.generic]]:
    """The columns by name; names become two arrays each."""
    found: dict[str, NDArray[np.generic]] = {}
    for field in fields(accesses):
        value = getattr(accesses, field.name)
        if isinstance(value, AccessMap):
            found |= {f"{_HANDED}{name}": column for name, column in as_arrays(value).items()}
        elif isinstance(value, NameTable):
            found |= {f"{field.name}.heap": value.heap, f"{field.name}.ends": value.ends}
        elif value is not None:
            found[field.name] = value
    return found


def from_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> AccessMap:
    """What ``as_arrays`` took apart; raises ``KeyError`` where a column is missing."""
    found: dict[str, object] = {}
    for field in fields(AccessMap):
        if field.name == "handed":
            of_calls = {name.removeprefix(_HANDED): one for name, one in arrays.items() if name.startswith(_HANDED)}
            found["handed"] = from_arrays(of_calls) if of_calls else None
        elif field.type == "NameTable":
            found[field.name] = NameTable(arrays[f"{field.name}.heap"], arrays[f"{field.name}.ends"])  # type: ignore[arg-type]
        else:
            found[field.name] = arrays[field.name]
    return AccessMap(**found)  # type: ignore[arg-type]
