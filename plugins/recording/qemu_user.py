# SPDX-License-Identifier: GPL-2.0-or-later
"""Records one program, with its threads, under QEMU's user-mode emulation."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.errors import GuestFailed, LinesmithError
from linesmith.analyzer.model import Emulation, Order, Profile, Recorded
from linesmith.plugins.machines import user
from linesmith.plugins.machines.elf_image import ElfImage, SymbolTable, code_symbols
from linesmith.plugins.machines.user import RECORDING, escaped, plugin_argument, plugin_file
from linesmith.plugins.recording.profile import ProgramNames, address_of, to_profile
from linesmith.plugins.recording.text import RecordingText, circumstances, read_recording


class QemuUserRecorder:
    """Runs the program of the order in an emulator and follows what its threads do to cache lines."""

    name = "qemu-user"

    def obstacle(self, order: Order) -> str | None:
        """Why this recorder cannot carry out the order; ``None`` when it can."""
        try:
            user.emulator(user.program_of(order.command[0]).machine)
            plugin_file()
        except LinesmithError as error:
            return str(error)
        return None

    def commands(self, order: Order) -> tuple[str, ...]:
        """The command that ``record`` would run; a region's addresses are known only when the program is loaded."""
        return (_shown(order, user.program_of(order.command[0])),)

    def planned(self, order: Order, machine: str) -> tuple[str, ...]:
        """The command for a program that is yet to be built."""
        return (_shown(order, ElfImage(Path(order.command[0]), machine, relocatable=True, base=0, segments=())),)

    def record(self, order: Order, scratch: Path, tell: Callable[[str], None]) -> Recorded:
        """Run the order's program; raises ``ToolMissing``, ``GuestFailed``, ``NotRecorded`` or ``ElfError``."""
        program = user.program_of(order.command[0])
        settings = _region(order.emulation, program, scratch)
        command = _command(order, program, scratch, settings)
        tell("running the program")
        ran = user.run(command, order.command[0], order.seconds, order.output, order.directory)
        tell("reading the recording")
        if ran.status and not (scratch / RECORDING).is_file():
            how = f"was killed by signal {-ran.status}" if ran.status < 0 else f"ended with status {ran.status}"
            raise GuestFailed(
                f"{order.command[0]} {how} before its recording was written; let it end by itself, or end the region"
                " with --to"
            )
        text = read_recording(scratch / RECORDING)
        return Recorded(_profile(order, program, ran, text), status=ran.status)


def _shown(order: Order, program: ElfImage) -> str:
    return shlex.join(_command(order, program, Path(), {"region": "all"}))


def _command(order: Order, program: ElfImage, scratch: Path, settings: dict[str, str]) -> tuple[str, ...]:
    path = user.emulator(program.machine)
    # A program has no kernel to follow, and its threads cannot be run on one host thread.
    emulation = replace(order.emulation, ring="user", interleave="turns")
    trace = {"trace": escaped(order.trace)} if order.trace else {}
    plugin = plugin_argument(plugin_file(), emulation, {"out": escaped(scratch / RECORDING), **settings, **trace})
    variables = [word for name, value in order.environment for word in ("-E", f"{name}={value}")]
    return (path, "-plugin", plugin, *variables, "-0", order.command[0], str(program.path), *order.command[1:])


def _region(emulation: Emulation, program: ElfImage, scratch: Path) -> dict[str, str]:
    if emulation.first is None:
        return {"region": "all"}
    moved = user.probe_load_address(user.emulator(program.machine), program, scratch) - program.base
    table = SymbolTable(code_symbols(program.path, moved))
    region = {"region": "symbol", "start": address_of(emulation.first, table, program.path)}
    return region | ({"stop": address_of(emulation.last, table, program.path)} if emulation.last else {})


def _profile(order: Order, program: ElfImage, ran: user.Ran, text: RecordingText) -> Profile:
    version = user.version(user.emulator(program.machine))
    start = user.load_address(ran.mappings, program.path)
    moved = None if start is None else start - program.base
    recording = replace(circumstances(order, text, "qemu-user", version, program.build_id), moved=moved)
    remarks = (f"the program ended with status {ran.status}",) if ran.status else ()
    return to_profile(text, recording, ProgramNames(ran.mappings, program.path, moved or 0), str(program.path), remarks)
