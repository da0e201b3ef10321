# SPDX-License-Identifier: GPL-2.0-or-later
"""Names by number, kept as one block of bytes: read one at a time, and searched without reading any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Names:
    """UTF-8 in ``heap``, a zero byte before the first name and behind each; ``ends`` are the places of the latter."""

    heap: NDArray[np.uint8]
    ends: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> str:
        begin = int(self.ends[number - 1]) + 1 if number else 1
        return self.heap[begin : int(self.ends[number])].tobytes().decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.heap.tobytes().decode("utf-8", "replace").split("\0")[1:-1])

    def called(self, name: str) -> list[int]:
        """The numbers of the names that are ``name``, or a clone of it as compilers call them (``name.isra.0``)."""
        heap, wanted = self.heap.tobytes(), b"\0" + name.encode("utf-8", "replace")
        places = (place for end in (b"\0", b".") for place in _occurrences(heap, wanted + end))
        return sorted(int(np.searchsorted(self.ends, place, side="right")) for place in places)


def names(texts: Iterable[str]) -> Names:
    """The texts as ``Names``; a zero inside one becomes the sign for what cannot be shown."""
    encoded = [text.replace("\0", "\ufffd").encode("utf-8", "replace") for text in texts]
    heap = b"\0" + b"".join(one + b"\0" for one in encoded)
    ends = np.cumsum([len(one) + 1 for one in encoded], dtype=np.uint64)
    return Names(np.frombuffer(heap, np.uint8), ends)


def _occurrences(heap: bytes, wanted: bytes) -> Iterator[int]:
    """Where each begins; two may share the zero between them."""
    place = heap.find(wanted)
    while place >= 0:
        yield place
        place = heap.find(wanted, place + 1)
