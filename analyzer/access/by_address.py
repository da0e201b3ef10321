# SPDX-License-Identifier: GPL-2.0-or-later
"""What the instruction at an address touches, and the same for millions of addresses at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.by_function import COLD, accesses_in
from linesmith.analyzer.errors import AddressNotFound
from linesmith.analyzer.model import AddressAccesses, CodeAccess

NO_ROW = -1


def resolve(addresses: NDArray[np.uint64], accesses: AccessMap) -> NDArray[np.int64]:
    """The first row of each address, ``NO_ROW`` where no memory is touched; an instruction may have two rows.

    Addresses are those of the file, in any order; the columns of the map at the rows tell the rest.
    """
    if not len(accesses):
        return np.full(len(addresses), NO_ROW, np.int64)
    distinct, which = np.unique(addresses, return_inverse=True)  # samples repeat, and sorted ones are found sooner
    rows = np.searchsorted(accesses.address, distinct)
    met = accesses.address[np.minimum(rows, len(accesses) - 1)] == distinct
    return np.where(met, rows, NO_ROW)[which]


def accesses_at(place: str, accesses: AccessMap) -> tuple[AddressAccesses, ...]:
    """What the instruction at ``place`` touches: ``0xffffffff81001234``, ``name+0x12`` or ``name+0x12/0x340``.

    Several functions may have one name. Raises ``AddressNotFound`` or ``FunctionNotFound``.
    """
    found = tuple(_at(function, address, accesses) for function, address in _places(place, accesses))
    if not found:
        raise AddressNotFound(
            f"{place} lies in no function whose code was mapped; give an address of the file, not of a running "
            "kernel or process that was moved, or write it as function+0x12"
        )
    return found


def _places(place: str, accesses: AccessMap) -> Iterator[tuple[int, int]]:
    """(number of the function, address) of each instruction that ``place`` can mean."""
    name, _, rest = place.partition("/")[0].partition("+")
    address = _number(place)
    if address is not None:
        yield from ((function, address) for function in _covering(address, accesses))
        return
    into = _number(rest) if rest else 0
    if into is None:
        raise AddressNotFound(f"{place!r} is no address; write it as 0xffffffff81001234 or function+0x12")
    numbers = accesses.functions.called(name)
    if not numbers:
        accesses_in(name, accesses)  # says which names are near
        what = "is a part of a function" if name.endswith(COLD) else "exists inlined only"
        raise AddressNotFound(
            f"{name} {what}, and has no start of its own; give the address itself, or --function {name}"
        )
    for function in numbers:
        low, high = int(accesses.function_low[function]), int(accesses.function_high[function])
        if low + into < high:
            yield function, low + into


def _number(text: str) -> int | None:
    try:
        return int(text, 16) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None


def _covering(address: int, accesses: AccessMap) -> list[int]:
    if not 0 <= address < 1 << 64:
        return []
    rows = np.flatnonzero((accesses.function_low <= np.uint64(address)) & (np.uint64(address) < accesses.function_high))
    if len(rows):
        return [int(row) for row in rows[:1]]
    exact = int(resolve(np.array([address], np.uint64), accesses)[0])
    return [] if exact == NO_ROW else [int(accesses.function[exact])]


def _at(function: int, address: int, accesses: AccessMap) -> AddressAccesses:
    first, last = np.searchsorted(accesses.address, (np.uint64(address), np.uint64(address + 1)))
    return AddressAccesses(
        address,
        accesses.functions[function],
        accesses.into(function, address),
        accesses.accesses(range(int(first), int(last))),
        () if last > first else _before(function, address, accesses),
    )


def _before(function: int, address: int, accesses: AccessMap) -> tuple[CodeAccess, ...]:
    """The accesses of the last instruction before ``address`` in the same function that touches memory."""
    rows = accesses.rows_of_function(function)
    rows = rows[accesses.address[rows] < np.uint64(address)]
    return accesses.accesses(rows[accesses.address[rows] == accesses.address[rows[-1]]]) if len(rows) else ()
