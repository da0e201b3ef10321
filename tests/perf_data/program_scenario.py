# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with threads, ``connections.c``, as a PMU would sample it: globals of a PIE and objects on its heap."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from perf_data import records
from perf_data.hardware import CONTENDED, CONTENDED_STORES, QUIET, Hardware
from perf_data.image import Program
from perf_data.recording import Computer, Recording
from perf_data.records import Mode
from perf_data.scenario import Drawn, Place, Task, Touch, draw

from linesmith.analyzer.model import AccessKind

SOURCE = Path(__file__).with_name("connections.c")
READ, UPDATE, ATOMIC = AccessKind.READ, AccessKind.READ_WRITE, AccessKind.ATOMIC
_THREADS = 16
# What malloc gives out for 56 bytes lies 64 apart, so every connection begins 32 bytes into a line.
_FIRST, _STRIDE, _CONNECTIONS = 0x2A0, 64, 24


def compiled(folder: Path, optimised: str = "-O2") -> Path:
    """The server as a PIE with a build-id; raises ``CalledProcessError`` where gcc does not make it."""
    elf = folder / "connections"
    subprocess.run(["gcc", "-g", optimised, "-fPIE", "-pie", "-Wl,--build-id", "-o", elf, SOURCE], check=True)
    return elf


def program_recording(program: Program, hardware: Hardware, samples: int, seed: int = 1) -> Recording:
    """The server on that hardware."""
    computer = Computer(machine=hardware.machine, cpu=hardware.cpu)
    names = b"".join(records.comm(one.pid, one.tid, one.name) for one in _tasks(program))
    return Recording(
        hardware.events,
        drawn(program, hardware, samples, seed)[0].samples,
        computer=computer,
        head=names + b"".join(one.record() for one in program.mappings),
        builds=records.build_id(Mode.USER, str(program.elf), program.build_id),
    )


def drawn(program: Program, hardware: Hardware, samples: int, seed: int = 1) -> tuple[Drawn, Sequence[Touch]]:
    """The samples of such a recording, and what they were drawn from."""
    touches = tuple(_touches(program, tuple(range(Computer().cpus))))
    return draw(touches, samples, hardware, seed), touches


def _tasks(program: Program) -> tuple[Task, ...]:
    return tuple(Task(program.pid, program.pid + number, "connections") for number in range(_THREADS))


def _touches(program: Program, cpus: tuple[int, ...]) -> Iterator[Touch]:
    """Each thread counts for itself, all look at all states and at all connections."""
    size = program.size("counters")
    counters = tuple(program.variable("per_thread", number * size) for number in range(_THREADS))
    connections = program.allocated(_FIRST, _STRIDE, _CONNECTIONS)
    used = partial(_used, program, cpus)
    yield from used(8, "count_request", "counters", "requests", UPDATE, counters, owner=True)
    yield from used(2, "count_request", "counters", "errors", UPDATE, counters, owner=True)
    yield from used(5, "look_at_state", "counters", "state", READ, counters)
    yield from used(6, "find_connection", "connection", "descriptor", READ, connections)
    yield from used(4, "find_connection", "connection", "next", READ, connections)
    yield from used(5, "hold", "connection", "references", ATOMIC, connections)
    yield from used(4, "account", "connection", "received", UPDATE, connections)
    stacks = program.allocated(0x8_0000, 4096, len(cpus))
    for one in used(5, "look_at_state", "counters", "state", READ, stacks, owner=True):
        yield replace(one, places=stacks, served=QUIET, skewed=False)


def _used(
    program: Program,
    cpus: tuple[int, ...],
    share: float,
    function: str,
    record: str,
    member: str,
    kind: AccessKind,
    objects: Sequence[Place],
    owner: bool = False,
) -> Iterator[Touch]:
    """One member as a function uses it in all objects; loads and stores of an update are apart."""
    found = program.touching(function, record, member, kind)
    code = tuple(one.address + program.slide for one in found)
    places = tuple(one.plus(found[0].offset or 0) for one in objects)
    each = share if kind is READ else share / 2
    load = Touch(function, code, places, each, CONTENDED, cpus, _tasks(program), kind is ATOMIC, owner=owner)
    load = replace(load, mode=Mode.USER)
    yield load
    if kind is not READ:
        yield replace(load, served=CONTENDED_STORES)
