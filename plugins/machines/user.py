# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one program under QEMU's user-mode emulation, and learns where its files are loaded.

Here are also our plugin for QEMU's emulation, with its options, the tiny program that marks a border of the region of
interest (one marker instruction, then exit(0)), and the speed of this host's time stamp counter: an emulated x86 guest
sees that as its own, and one that measures it itself while the host is busy may be wrong by a factor.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

from linesmith.analyzer.base.child import Command, Streams, child, find, late, printing_to, run_apart
from linesmith.analyzer.base.elf import is_elf
from linesmith.analyzer.base.errors import CommandTimedOut, GuestFailed, ToolMissing
from linesmith.plugins.machines.elf_image import ElfImage, read_elf

if TYPE_CHECKING:
    from linesmith.analyzer.model import Emulation


# Source: proc_pid_maps(5).
_ROW = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ \d+ +(/.*)")
_PACKAGE = "qemu-user"
_POLL_SECONDS = 0.01
_PROBE_SECONDS = 10
_PLACE = "plugins/bin/coherence_plugin.so"
RECORDING = "recording"
# Records of one CPU: an instruction that touches many contended lines has one for each.
_MOST_ACCESSES = 1 << 19
# Source: the generic ABI, chapters 4 and 5.
_ET_EXEC, _PT_LOAD, _READ_AND_EXECUTE = 2, 1, 5
_ELF_HEADER_BYTES, _PROGRAM_HEADER_BYTES = 64, 56
_LOAD_ADDRESS = 0x400000
_MACHINE_NUMBERS = {"x86_64": 62, "aarch64": 183}
# rdtsc; shl $32,%rdx; or %rdx,%rax; ret
_READ = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
_SPAN_SECONDS = 0.1
_TRIES = 20


@dataclass(frozen=True, slots=True)
class MappedRange:
    """Bytes of a file from ``offset`` on, at the addresses from ``start`` up to ``end``."""

    start: int
    end: int
    offset: int
    path: str


def read_mappings(process: int) -> tuple[MappedRange, ...]:
    """Files mapped by the process with that number; none when it has ended."""
    try:
        text = Path(f"/proc/{process}/maps").read_text("utf-8", "surrogateescape")
    except OSError:
        return ()
    rows = filter(None, map(_ROW.fullmatch, text.splitlines()))
    return tuple(MappedRange(int(row[1], 16), int(row[2], 16), int(row[3], 16), row[4]) for row in rows)


def load_address(mappings: Iterable[MappedRange], path: Path) -> int | None:
    """Where the first byte of a file lies; ``None`` when it is not mapped."""
    return min((one.start - one.offset for one in mappings if one.path == str(path)), default=None)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended, and every mapping of a file that was seen: its own, and those of the emulator."""

    status: int
    mappings: tuple[MappedRange, ...]


def program_of(name: str) -> ElfImage:
    """The program called ``name``, found as a shell does; raises ``ToolMissing`` when it is none that can be run."""
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"the program {name} is not found or cannot be run; give its path after --")
    path = Path(found).resolve()
    if not is_elf(path):
        raise ToolMissing(f"{name} is a script; name the program that it runs, with its arguments, behind --")
    return read_elf(path)


def emulator(machine: str) -> str:
    """The user-mode emulator for ``machine``; raises ``ToolMissing`` when there is none that loads plugins."""
    path = find(f"qemu-{machine}", _PACKAGE)
    try:
        help_text = run_apart(Command((path, "-h"), Path.cwd(), _PROBE_SECONDS, variables=os.environ)).output
    except (ToolMissing, CommandTimedOut) as error:
        raise ToolMissing(f"{path} does not run ({error}); reinstall the package {_PACKAGE}") from error
    if b"-plugin" not in help_text:
        raise ToolMissing(
            f"{path} cannot load plugins (static builds cannot); install another, or record with --on qemu"
        )
    return path


def version(path: str) -> str:
    """The version that the emulator tells."""
    said = run_apart(Command((path, "--version"), Path.cwd(), _PROBE_SECONDS, variables=os.environ))
    words = said.output.decode("utf-8", "replace").split()
    return words[2] if words[1:2] == ["version"] else "unknown"


def probe_load_address(path: str, program: ElfImage, scratch: Path) -> int:
    """Where the program's first byte is loaded, asked of a run that stops before its first instruction."""
    door = scratch / "door"
    end = time.monotonic() + _PROBE_SECONDS
    argv = (path, "-g", door.name, str(program.path))
    with child(argv, scratch, Streams(subprocess.DEVNULL, subprocess.DEVNULL)) as stopped:
        while time.monotonic() < end and stopped.poll() is None:
            found = load_address(read_mappings(stopped.pid), program.path)
            if door.exists() and found is not None:
                return found
            time.sleep(_POLL_SECONDS)
    raise GuestFailed(f"{path} does not start {program.path}; run it by hand to see why: {path} {program.path}")


def run(
    argv: Sequence[str], program: str, seconds: float, output: Path | None = None, directory: Path | None = None
) -> Ran:
    """Run the emulator in ``directory`` or where we are, with our own input and, without ``output``, our own output.

    Raises ``GuestFailed`` when time is up.
    """
    seen: dict[tuple[int, str], MappedRange] = {}
    end = time.monotonic() + seconds
    with printing_to(output) as streams, child(argv, directory or Path.cwd(), streams) as process:
        while process.poll() is None:
            seen |= {(one.start, one.path): one for one in read_mappings(process.pid)}
            if time.monotonic() > end:
                raise late(program, seconds)
            time.sleep(_POLL_SECONDS)
    return Ran(process.returncode, tuple(seen.values()))


def plugin_file() -> Path:
    """The plugin of this installation; raises ``ToolMissing`` when it was built without one."""
    path = Path(str(distribution("linesmith").locate_file(f"linesmith/{_PLACE}")))
    if not path.is_file():
        raise ToolMissing(f"the plugin for QEMU is not part of this installation ({path}); reinstall linesmith")
    return path


def plugin_argument(plugin: Path, emulation: Emulation, settings: dict[str, str]) -> str:
    """The word behind ``-plugin``; ``settings`` are further options."""
    options = {
        "out": RECORDING,
        "line_bytes": str(emulation.line_bytes),
        "adjacent": str(int(emulation.adjacent)),
        "cache_bytes": str(emulation.cache_bytes),
        "max_accesses": str(_MOST_ACCESSES),
        "quantum": str(emulation.quantum),
        "seed": str(emulation.seed),
        "ring": emulation.ring,
        "interleave": emulation.interleave,
    }
    words = (escaped(plugin), *(f"{name}={value}" for name, value in (options | settings).items()))
    return ",".join(words)


def escaped(path: Path) -> str:
    """The absolute path as a value in one of QEMU's comma-separated lists: commas are doubled."""
    return str(path.absolute()).replace(",", ",,")


class Border(Enum):
    """A border of the region; the value is the lowest byte of the marker's operand."""

    START = 1
    STOP = 0


def marker_program(machine: str, border: Border) -> bytes:
    """A static ELF executable for ``machine`` (``x86_64`` or ``aarch64``); raises ``ToolMissing`` for others."""
    if machine not in _MACHINE_NUMBERS:
        raise ToolMissing(f"the machine {machine} is not supported; record an x86_64 or aarch64 guest")
    if machine == "x86_64":
        # nopl 0x4c534d0X(%rax), which reads nothing; mov $60,%eax; xor %edi,%edi; syscall, which is exit(0).
        marker = b"\x0f\x1f\x80" + struct.pack("<I", 0x4C534D00 | border.value)
        code = marker + b"\xb8\x3c\x00\x00\x00" + b"\x31\xff" + b"\x0f\x05"
    else:
        # movz xzr, #0x4c0X, lsl #16, which writes nowhere; mov x8,#93; mov x0,#0; svc #0, which is exit(0).
        number = 0xD2A00000 | (0x4C00 | border.value) << 5 | 31
        code = struct.pack("<IIII", number, 0xD2800BA8, 0xD2800000, 0xD4000001)
    start = _ELF_HEADER_BYTES + _PROGRAM_HEADER_BYTES
    size = start + len(code)
    identity = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        *(identity, _ET_EXEC, _MACHINE_NUMBERS[machine], 1, _LOAD_ADDRESS + start),
        *(_ELF_HEADER_BYTES, 0, 0, _ELF_HEADER_BYTES, _PROGRAM_HEADER_BYTES, 1, 0, 0, 0),
    )
    segment = struct.pack("<IIQQQQQQ", _PT_LOAD, _READ_AND_EXECUTE, 0, _LOAD_ADDRESS, _LOAD_ADDRESS, size, size, 0x1000)
    return header + segment + code


@cache
def counter_khz() -> int | None:
    """Its frequency in kHz, good to some parts of a million; ``None`` where it cannot be read."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(_READ)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    ticks, nanoseconds = _together(read)
    time.sleep(_SPAN_SECONDS)
    later_ticks, later_nanoseconds = _together(read)
    return round((later_ticks - ticks) * 1_000_000 / (later_nanoseconds - nanoseconds))


def _together(read: Callable[[], int]) -> tuple[int, int]:
    """Both clocks at one moment: of several tries the one that took the shortest time."""
    tries = []
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        ticks = read()
        after = time.monotonic_ns()
        tries.append((after - before, ticks, (before + after) // 2))
    _, ticks, nanoseconds = min(tries)
    return ticks, nanoseconds
