# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one program under QEMU's user-mode emulation, and learns where its files are loaded."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed, ToolMissing
from linesmith.plugins.machines.child import Streams, child, find, late, printing_to
from linesmith.plugins.machines.elf_image import ElfImage, is_elf, read_elf
from linesmith.plugins.machines.mappings import Mapping, load_address, read_mappings

_PACKAGE = "qemu-user"
_POLL_SECONDS = 0.01
_PROBE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended, and every mapping of a file that was seen: its own, and those of the emulator."""

    status: int
    mappings: tuple[Mapping, ...]


def program_of(name: str) -> ElfImage:
    """The program called ``name``, found as a shell does; raises ``ToolMissing`` when it is none that can be run."""
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"the program {name} is not found or cannot be run; name its path behind --")
    path = Path(found).resolve()
    if not is_elf(path):
        raise ToolMissing(f"{name} is a script; name the program that it runs, with its arguments, behind --")
    return read_elf(path)


def emulator(machine: str) -> str:
    """The user-mode emulator for ``machine``; raises ``ToolMissing`` when there is none that loads plugins."""
    path = find(f"qemu-{machine}", _PACKAGE)
    try:
        told = subprocess.run((path, "-h"), capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissing(f"{path} does not run ({error}); reinstall the package {_PACKAGE}") from error
    if "-plugin" not in told:
        raise ToolMissing(
            f"{path} cannot load plugins (static builds cannot); install another, or record with --on qemu"
        )
    return path


def version(path: str) -> str:
    """The version that the emulator tells."""
    told = subprocess.run((path, "--version"), capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    words = told.stdout.split()
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
    seen: dict[tuple[int, str], Mapping] = {}
    end = time.monotonic() + seconds
    with printing_to(output) as streams, child(argv, directory or Path.cwd(), streams) as process:
        while process.poll() is None:
            seen |= {(one.start, one.path): one for one in read_mappings(process.pid)}
            if time.monotonic() > end:
                raise late(program, seconds)
            time.sleep(_POLL_SECONDS)
    return Ran(process.returncode, tuple(seen.values()))
