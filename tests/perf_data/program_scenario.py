# SPDX-License-Identifier: GPL-2.0-or-later
"""A server with threads, ``connections.c``, as a PMU would sample it: globals of a PIE and objects on its heap."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from perf_data.image import Program
from perf_data.recording import Computer
from perf_data.records import Mode
from perf_data.scenario import Task, Touch
from perf_data.uses import ATOMIC, QUIET, READ, UPDATE, Objects, Use, alone, contended

SOURCE = Path(__file__).with_name("connections.c")
_THREADS = 16
# What malloc gives out for 56 bytes lies 64 apart, so every connection begins 32 bytes into a line.
_FIRST, _STRIDE, _CONNECTIONS = 0x2A0, 64, 24
_COUNTED = (
    Use(8, "count_request", "counters", "requests", "", (UPDATE,)),
    Use(2, "count_request", "counters", "errors", "", (UPDATE,)),
)
_LOOKED_AT = Use(5, "look_at_state", "counters", "state", "", (READ,))
_CONNECTED = (
    Use(6, "find_connection", "connection", "descriptor", "", (READ,)),
    Use(4, "find_connection", "connection", "next", "", (READ,)),
    Use(5, "hold", "connection", "references", "", (ATOMIC,)),
    Use(4, "account", "connection", "received", "", (UPDATE,)),
)


def compiled(folder: Path, optimised: str = "-O2") -> Path:
    """The server as a PIE with a build-id; raises ``CalledProcessError`` where gcc does not make it."""
    elf = folder / "connections"
    subprocess.run(["gcc", "-g", optimised, "-fPIE", "-pie", "-Wl,--build-id", "-o", elf, SOURCE], check=True)
    return elf


def tasks(program: Program) -> tuple[Task, ...]:
    return tuple(Task(program.pid, program.pid + number, "connections") for number in range(_THREADS))


def touches(program: Program, computer: Computer) -> tuple[Touch, ...]:
    """The whole scenario: each thread counts for itself, all look at all states and at all connections."""
    cpus = tuple(range(computer.cpus))
    size = program.size("counters")
    counters = tuple(program.variable("per_thread", number * size) for number in range(_THREADS))
    connections = program.allocated(_FIRST, _STRIDE, _CONNECTIONS)
    threads = tasks(program)
    own = Objects("counters", counters, cpus, threads, Mode.USER, owned=True)
    found = [touch for use in _COUNTED for touch in contended(program, use, own)]
    found += contended(program, _LOOKED_AT, replace(own, owned=False))
    held = Objects("connection", connections, cpus, threads, Mode.USER)
    found += [touch for use in _CONNECTED for touch in contended(program, use, held)]
    stacks = program.allocated(0x8_0000, 4096, computer.cpus)
    found.append(alone(program, _LOOKED_AT, Objects("", stacks, cpus, threads, Mode.USER, owned=True), QUIET))
    return tuple(found)
