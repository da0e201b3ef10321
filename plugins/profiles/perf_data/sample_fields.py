# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of samples, taken out of their records (the order is that of ``perf_output_sample`` in the kernel)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linesmith.plugins.profiles.perf_data.byte_order import ByteOrder, Words
from linesmith.plugins.profiles.perf_data.header import Event, Sampled
from linesmith.plugins.profiles.perf_data.records import Block
from linesmith.plugins.profiles.samples import SAMPLE, Rows

_GROUP = 1 << 3
_READ_TIMES = (1 << 0, 1 << 1)
_READ_OF_EACH = (1 << 2, 1 << 4)
_HARDWARE_INDEX, _BRANCH_COUNTERS = 1 << 17, 1 << 19
_MODE = 7


@dataclass(slots=True)
class _Cursor:
    """Where each sample is read next; behind its end it stands still and the sample is damaged."""

    words: Words
    at: NDArray[np.int64]
    end: NDArray[np.int64]

    @property
    def sound(self) -> NDArray[np.bool_]:
        return self.at <= self.end

    def take(self) -> Words:
        """The next word of each."""
        found = self.words[np.minimum(self.at, len(self.words) - 1)]
        self.at = self.at + 1
        return found

    def skip(self, count: int | NDArray[np.int64]) -> None:
        """Pass over as many words; a count beyond the record only damages this sample."""
        self.at = np.minimum(self.at + count, self.end + 1)


def sample_rows(block: Block, numbers: NDArray[np.int64], event: Event, order: ByteOrder) -> tuple[Rows, int]:
    """The samples with these numbers in the block, all of one event, and how many more of them are damaged."""
    start = block.start[numbers]
    cursor = _Cursor(block.words, start + 1, start + block.size[numbers] // 8)
    rows = np.zeros(len(numbers), SAMPLE)
    rows["cpu"] = rows["pid"] = -1
    rows["mode"] = block.misc[numbers] & _MODE
    _fixed(rows, cursor, event, order)
    _variable(cursor, event, order)
    if event.fields & (Sampled.WEIGHT | Sampled.WEIGHT_STRUCT):
        weight = cursor.take()
        whole = np.minimum(weight, np.uint64(0xFFFFFFFF))
        rows["weight"] = whole if event.fields & Sampled.WEIGHT else weight & np.uint64(0xFFFFFFFF)
    if event.fields & Sampled.DATA_SRC:
        rows["source"] = cursor.take()
    sound = cursor.sound
    return rows[sound], int(len(rows) - sound.sum())


def identifiers(block: Block, numbers: NDArray[np.int64], event: Event) -> Words:
    """The id of each sample; every event of a file with several kinds of samples has it at the same place."""
    if event.fields & Sampled.IDENTIFIER:
        at = 1
    else:
        before = (Sampled.IP, Sampled.TID, Sampled.TIME, Sampled.ADDR)
        at = 1 + sum(1 for one in before if event.fields & one)
    place = np.minimum(block.start[numbers] + at, len(block.words) - 1)
    return block.words[place]


def _fixed(rows: Rows, cursor: _Cursor, event: Event, order: ByteOrder) -> None:
    """The fields of one word each, from the first to the period."""
    fields = event.fields
    cursor.skip(1 if fields & Sampled.IDENTIFIER else 0)
    if fields & Sampled.IP:
        rows["ip"] = cursor.take()
    if fields & Sampled.TID:
        rows["pid"] = order.halves(cursor.take())[0].astype(np.uint32).view(np.int32)
    cursor.skip(1 if fields & Sampled.TIME else 0)
    if fields & Sampled.ADDR:
        rows["address"] = cursor.take()
    cursor.skip(sum(1 for one in (Sampled.ID, Sampled.STREAM_ID) if fields & one))
    if fields & Sampled.CPU:
        rows["cpu"] = order.halves(cursor.take())[0].astype(np.uint32).view(np.int32)
    cursor.skip(1 if fields & Sampled.PERIOD else 0)


def _variable(cursor: _Cursor, event: Event, order: ByteOrder) -> None:
    """Pass over the fields of any length in front of the weight."""
    fields = event.fields
    if fields & Sampled.READ:
        each = 1 + sum(1 for one in _READ_OF_EACH if event.read_format & one)
        times = sum(1 for one in _READ_TIMES if event.read_format & one)
        cursor.skip(_count(cursor) * each + times if event.read_format & _GROUP else each + times)
    if fields & Sampled.CALLCHAIN:
        cursor.skip(_count(cursor))
    if fields & Sampled.RAW:
        # Its length of 32 bits and its bytes fill whole words together.
        cursor.skip((order.halves(cursor.take())[0].astype(np.int64) + 4) // 8 - 1)
    if fields & Sampled.BRANCH_STACK:
        counters = 1 if event.branches & _BRANCH_COUNTERS else 0
        count = _count(cursor)
        cursor.skip(count * (3 + counters) + (1 if event.branches & _HARDWARE_INDEX else 0))
    if fields & Sampled.REGS_USER:
        cursor.skip((cursor.take() != 0) * event.registers.bit_count())
    if fields & Sampled.STACK_USER:
        size = _count(cursor)
        cursor.skip(size // 8 + (size > 0))


def _count(cursor: _Cursor) -> NDArray[np.int64]:
    """The next word as a count, at most a little more than any record holds."""
    return np.minimum(cursor.take(), np.uint64(1 << 20)).astype(np.int64)
