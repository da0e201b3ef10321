# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands between memory samples in real recordings: another event, guests, losses, new threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from perf_data import records
from perf_data.event import Event, Field
from perf_data.recording import Recording
from perf_data.records import Mode, Moment

_CYCLES = Event("cycles:P", type=0, config=0, precise=2, without=Field.ADDR | Field.DATA_SRC | Field.PHYS_ADDR)
_GUEST_TEXT = 0xFFFF_FFFF_9000_0000
CYCLES, GUESTS, LOST_RECORDS, LOST_SAMPLES = 300, 200, 17, 5


def with_more(recording: Recording) -> Recording:
    """The recording with ``CYCLES`` samples of cycles, ``GUESTS`` memory samples of a guest's kernel, and losses.

    The new samples are behind the others, at their times.
    """
    cycles, guests = recording.samples[:CYCLES].copy(), recording.samples[:GUESTS].copy()
    cycles["event"] = len(recording.events)
    guests["mode"], guests["pid"], guests["tid"] = Mode.GUEST_KERNEL, 7000, 7001
    guests["ip"] = np.uint64(_GUEST_TEXT + 0x1234)
    end = Moment(1000, 1000, int(recording.samples["time"].max()) + 1, 3, recording.ids[0][3])
    tail = (
        records.fork(1000, 1000, 2000, 1000, end)
        + records.comm(1000, 2000, "late", end)
        + records.lost(recording.ids[0][3], LOST_RECORDS, end)
        + records.lost_samples(LOST_SAMPLES, end)
    )
    return replace(
        recording,
        events=(*recording.events, _CYCLES),
        samples=np.concatenate((recording.samples, cycles, guests)),
        head=recording.head + records.kernel_map(_GUEST_TEXT, 1 << 24, guest=True),
        tail=recording.tail + tail,
    )
