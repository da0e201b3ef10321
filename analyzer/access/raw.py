# SPDX-License-Identifier: GPL-2.0-or-later
"""The access map as the native core hands it over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class RawAccesses:
    """Columns of equal length, one row for each access, by ascending address; what numbers mean is in the lists.

    ``kind`` and ``outcome`` count as ``AccessKind`` and ``AccessOutcome`` do. Row values refer to ``functions`` (with
    first and last address), ``inline_chains`` (outermost function first; 0 is no inlined code), ``files`` (0: not
    known), ``types`` (0: not known; with the id of the layout, -1 for what is no record) and ``variables`` (0: none).
    ``offset`` and ``width`` are bytes.
    """

    address: NDArray[np.uint64]
    function: NDArray[np.uint32]
    inlined: NDArray[np.uint32]
    file: NDArray[np.uint32]
    line: NDArray[np.uint32]
    type: NDArray[np.uint32]
    offset: NDArray[np.int32]
    width: NDArray[np.uint16]
    kind: NDArray[np.uint8]
    outcome: NDArray[np.uint8]
    variable: NDArray[np.uint32]
    functions: list[str]
    function_low: NDArray[np.uint64]
    function_high: NDArray[np.uint64]
    inline_chains: list[list[str]]
    files: list[str]
    types: list[str]
    type_layout: NDArray[np.int64]
    variables: list[str]
