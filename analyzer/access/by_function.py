# SPDX-License-Identifier: GPL-2.0-or-later
"""What a function touches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.errors import FunctionNotFound
from linesmith.analyzer.model import FunctionAccesses

MOST_OFFERED = 4
# What compilers append to the name of a function for the part of it that is seldom run.
COLD = ".cold"


def accesses_in(name: str, accesses: AccessMap) -> tuple[FunctionAccesses, ...]:
    """The functions called ``name`` and their clones, with all that they touch; ``name.cold`` is part of ``name``.

    Where there is none, the copies of the inlined function of this name, as one. Raises ``FunctionNotFound`` with
    near names.
    """
    numbers = accesses.functions.called(name) or accesses.functions.called(name.removesuffix(COLD))
    if numbers:
        return tuple(_function(number, accesses) for number in numbers)
    rows = _inlined(name, accesses)
    if not len(rows):
        raise FunctionNotFound(_not_found(name, accesses))
    return (FunctionAccesses(name, None, None, accesses.accesses(rows)),)


def _function(number: int, accesses: AccessMap) -> FunctionAccesses:
    low, high = int(accesses.function_low[number]), int(accesses.function_high[number])
    rows = accesses.rows_of_function(number)
    return FunctionAccesses(accesses.functions[number], low, high, accesses.accesses(rows))


def _inlined(name: str, accesses: AccessMap) -> NDArray[np.intp]:
    """The rows that come from an inlined function called so."""
    inside = np.isin(accesses.chain_functions, accesses.inlined.called(name))
    chains = np.searchsorted(accesses.chain_starts, np.flatnonzero(inside), side="right") - 1
    return np.flatnonzero(np.isin(accesses.chain, chains))


def _not_found(name: str, accesses: AccessMap) -> str:
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(name, _near(name, accesses), n=MOST_OFFERED, cutoff=0.6)
    offer = f"did you mean {', '.join(near)}?" if near else "give it as the symbol table does"
    return f"no function is called {name!r} in the code that was mapped; {offer}"


def _near(name: str, accesses: AccessMap) -> Iterator[str]:
    """Names of about the same length; comparing takes long."""
    for one in dict.fromkeys((*accesses.functions, *accesses.inlined)):
        if abs(len(one) - len(name)) <= 3:
            yield one
