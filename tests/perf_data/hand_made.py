# SPDX-License-Identifier: GPL-2.0-or-later
"""A small recording that needs no ELF file: two contended lines of a made-up kernel, and memory of one CPU."""

from __future__ import annotations

from collections.abc import Mapping

from perf_data import records
from perf_data.features import Computer
from perf_data.hardware import Hardware, Served
from perf_data.recording import Recording
from perf_data.records import Mode
from perf_data.scenario import Drawn, Place, Task, Touch, draw
from perf_data.uses import CONTENDED, CONTENDED_STORES, FROM_MEMORY, QUIET

TEXT, TEXT_BYTES = 0xFFFF_FFFF_9E00_0000, 0xE0_0000
FIRST, SECOND, OWN = 0xFFFF_9A83_4000_1000, 0xFFFF_9A83_4000_2040, 0xFFFF_9A83_5000_0000
_TASKS = (Task(100, 100, "reader"), Task(100, 101, "writer"))
_ORDINARY: Mapping[Served, float] = {Served.STORE_HIT: 1}


def recording(hardware: Hardware, samples: int = 2000, seed: int = 7) -> tuple[Recording, Drawn]:
    """The recording, and what was drawn for it."""
    computer = Computer(machine=hardware.machine, cpu=hardware.cpu)
    drawn = draw(touches(computer.cpus), samples, hardware, seed)
    head = records.kernel_map(TEXT, TEXT_BYTES)
    head += b"".join(records.comm(one.pid, one.tid, one.name) for one in _TASKS)
    builds = records.build_id(Mode.KERNEL, "[kernel.kallsyms]", bytes(range(20)))
    return Recording(hardware.events, drawn.samples, computer=computer, head=head, builds=builds), drawn


def touches(cpus: int) -> tuple[Touch, ...]:
    """Loads and stores of two members of one line, an atomic of another line, and what only one CPU touches."""
    return (
        _touch("flags", 0x1000, (FIRST + 8,), 30, CONTENDED, cpus),
        _touch("count", 0x1100, (FIRST + 32,), 20, CONTENDED_STORES, cpus),
        _touch("lock", 0x1200, (SECOND,), 15, CONTENDED, cpus, atomic=True),
        _touch("lock", 0x1200, (SECOND,), 15, CONTENDED_STORES, cpus, atomic=True),
        _touch("", 0x2000, tuple(OWN + cpu * 4096 for cpu in range(cpus)), 10, QUIET, cpus),
        _touch("", 0x2100, tuple(OWN + cpu * 4096 for cpu in range(cpus)), 5, FROM_MEMORY, cpus),
        _touch("", 0x2200, (0,), 5, _ORDINARY, cpus),
    )


def _touch(
    member: str,
    into: int,
    addresses: tuple[int, ...],
    share: float,
    served: Mapping[Served, float],
    cpus: int,
    atomic: bool = False,
) -> Touch:
    places = tuple(Place(address, address % (1 << 34)) for address in addresses)
    return Touch(
        type="made_up",
        member=member,
        function="",
        instructions=(TEXT + into, TEXT + into + 9),
        places=places,
        share=share,
        served=served,
        cpus=tuple(range(cpus)),
        tasks=_TASKS,
        atomic=atomic,
        owner=len(places) > 1,
    )
