# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts made to stall every reader of a tree: ``PYTHONPATH=tests python tests/bench/stalling_text.py``.

Each reader gets each text in three lengths, and in a fourth one where the third took long enough to tell anything. The
table has CPU seconds of the reader's process of those that take more than ``LIMIT`` seconds, or more than the length
explains.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stalling_readers import READERS, Reader, cpu_seconds
from stalling_shapes import Shape

LIMIT = 20
_SIZES = (256 << 10, 512 << 10, 1 << 20)
_LARGEST = 8 << 20
# Below that much per MiB the largest text cannot reach half of the limit, unless the time grows faster than the length.
_WORTH_SECONDS = 1.0
# How much longer four times the length may take: the clock has noise, caches of a CPU are finite.
_GROWTH = 6.0
_NOISE_SECONDS = 0.1


@dataclass(frozen=True)
class Row:
    """A reader with a text; ``seconds`` for each length, ``None`` above the limit."""

    reader: str
    shape: str
    seconds: tuple[float | None, ...]

    @property
    def is_over(self) -> bool:
        """Whether some length took more than the limit."""
        return None in self.seconds

    @property
    def grows(self) -> bool:
        """Whether the time grew faster than the length."""
        least, *_, most = (one or 0.0 for one in self.seconds[: len(_SIZES)])
        return most > max(least, _NOISE_SECONDS / _GROWTH) * _GROWTH


def rows(readers: str, shapes: str, *, largest: bool) -> Iterator[Row]:
    """A row for each reader and shape whose names have these words in them."""
    for reader, name, shape in _pairs(readers, shapes):
        yield Row(reader.__name__.strip("_"), name, tuple(_measured(reader, shape, largest=largest)))


def _pairs(readers: str, shapes: str) -> Iterator[tuple[Reader, str, Shape]]:
    for known, some in READERS:
        wanted: Mapping[str, Shape] = {name: shape for name, shape in known.items() if shapes in name}
        for reader in (one for one in some if readers in one.__name__):
            yield from ((reader, name, shape) for name, shape in wanted.items())


def _measured(reader: Reader, shape: Shape, *, largest: bool) -> Iterator[float | None]:
    seconds: float | None = None
    for size in _SIZES:
        seconds = cpu_seconds(reader, shape.text(size), LIMIT)
        yield seconds
        if seconds is None:
            return
    if largest or (seconds or 0.0) > _WORTH_SECONDS:
        yield cpu_seconds(reader, shape.text(_LARGEST), LIMIT)


def _line(row: Row) -> str:
    told = "".join(f"{'stopped' if one is None else f'{one:.2f}':>9}" for one in row.seconds)
    said = "stopped" if row.is_over else "grows" if row.grows else ""
    return f"{row.reader:14} {row.shape[:60]:60} {told:36} {said}"


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", default="", help="only readers with this in their name")
    parser.add_argument("--shape", default="", help="only shapes with this in their name")
    parser.add_argument("--all", action="store_true", help="print every row, and measure 8 MiB of each shape")
    given = parser.parse_args()
    print(f"{'reader':14} {'shape':60} {'256 KiB':>9}{'512 KiB':>9}{'1 MiB':>9}{'8 MiB':>9}")
    count = bad = 0
    for row in rows(given.reader, given.shape, largest=given.all):
        count += 1
        bad += row.is_over or row.grows
        if given.all or row.is_over or row.grows:
            print(_line(row), flush=True)
    print(f"{count} rows, {bad} of them above {LIMIT} s or growing faster than the text")


if __name__ == "__main__":
    main()
