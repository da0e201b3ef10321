# SPDX-License-Identifier: GPL-2.0-or-later
"""A small recording that needs no ELF file: two contended lines of a made-up kernel, and memory of one CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from perf_data import records
from perf_data.hardware import CONTENDED, CONTENDED_STORES, FROM_MEMORY, QUIET, Hardware, Served
from perf_data.recording import Computer, Recording
from perf_data.records import Event, Field, Mode, Moment
from perf_data.scenario import Drawn, Place, Task, Touch, draw

TEXT, TEXT_BYTES = 0xFFFF_FFFF_9E00_0000, 0xE0_0000
FIRST, SECOND, OWN = 0xFFFF_9A83_4000_1000, 0xFFFF_9A83_4000_2040, 0xFFFF_9A83_5000_0000
_TASKS = (Task(100, 100, "reader"), Task(100, 101, "writer"))
_ORDINARY: Mapping[Served, float] = {Served.STORE_HIT: 1}


def recording(hardware: Hardware, samples: int = 2000, seed: int = 7) -> tuple[Recording, Drawn]:
    computer = Computer(machine=hardware.machine, cpu=hardware.cpu)
    drawn = draw(touches(computer.cpus), samples, hardware, seed)
    head = records.kernel_map(TEXT, TEXT_BYTES)
    head += b"".join(records.comm(one.pid, one.tid, one.name) for one in _TASKS)
    builds = records.build_id(Mode.KERNEL, "[kernel.kallsyms]", bytes(range(20)))
    return Recording(hardware.events, drawn.samples, computer=computer, head=head, builds=builds), drawn


def touches(cpus: int) -> tuple[Touch, ...]:
    """Loads and stores of two members of one line, an atomic of another line, and what only one CPU touches."""
    return (
        _touch(0x1000, (FIRST + 8,), 30, CONTENDED, cpus),
        _touch(0x1100, (FIRST + 32,), 20, CONTENDED_STORES, cpus),
        _touch(0x1200, (SECOND,), 15, CONTENDED, cpus, atomic=True),
        _touch(0x1200, (SECOND,), 15, CONTENDED_STORES, cpus, atomic=True),
        _touch(0x2000, tuple(OWN + cpu * 4096 for cpu in range(cpus)), 10, QUIET, cpus),
        _touch(0x2100, tuple(OWN + cpu * 4096 for cpu in range(cpus)), 5, FROM_MEMORY, cpus),
        _touch(0x2200, (0,), 5, _ORDINARY, cpus),
    )


def _touch(
    into: int,
    addresses: tuple[int, ...],
    share: float,
    served: Mapping[Served, float],
    cpus: int,
    atomic: bool = False,
) -> Touch:
    code, places = (TEXT + into, TEXT + into + 9), tuple(Place(one, one % (1 << 34)) for one in addresses)
    every, own = tuple(range(cpus)), len(places) > 1
    return Touch("", code, places, share, served, every, _TASKS, atomic, owner=own)


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
