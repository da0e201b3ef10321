# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command in a whole emulated machine, from its boot to its power-off."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.errors import GuestFailed, NotRecorded
from linesmith.plugins.machines.child import Streams, child
from linesmith.plugins.machines.console import Console
from linesmith.plugins.machines.elf_image import build_id_in_notes
from linesmith.plugins.machines.guest_init import END_OF_SYMBOLS
from linesmith.plugins.machines.qmp import Qmp
from linesmith.plugins.machines.talk import GuestSigns, Talk

MEMORY_DUMP = "memory.elf"
_NOT_RUN = {126: "cannot be run", 127: "was not found"}


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known when the guest has powered off; ``status`` is the command's.

    ``symbols`` is text in the form of /proc/kallsyms where it was asked for, ``memory`` the dump.
    """

    status: int
    release: str = ""
    build_id: str | None = None
    qemu: str = ""
    symbols: str = ""
    memory: Path | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """What is wanted of the guest beyond running the command; ``build_id`` is the one that its kernel must have."""

    seconds: int
    dump: bool
    symbols: bool
    build_id: str | None
    tell: Callable[[str], None]


def run(command: Callable[[int], tuple[str, ...]], scratch: Path, log: Path, errand: Errand) -> Ending:
    """Run QEMU in ``scratch`` until the guest has powered off; ``command`` gets the descriptor of QEMU's QMP socket.

    QEMU writes the console to ``log``. Raises ``GuestFailed``, ``ToolMissing``, and ``NotRecorded`` when the guest's
    kernel is not the one that was expected.
    """
    errors = scratch / "qemu.errors"
    with ExitStack() as open_things:
        near, far = (open_things.enter_context(end) for end in socket.socketpair())
        complaints = open_things.enter_context(errors.open("wb"))
        streams = Streams(subprocess.PIPE, subprocess.PIPE, complaints)
        process = open_things.enter_context(child(command(far.fileno()), scratch, streams, (far.fileno(),)))
        far.close()
        talk = Talk(GuestSigns(process, Console(log), errors, "--timeout"), errand.seconds)
        errand.tell("booting")
        ending = _until_command_ended(talk, errand)
        qmp = Qmp(near, errand.seconds)
        ending = _with_memory(replace(ending, qemu=qmp.version), qmp, scratch, errand)
        ending = _with_symbols(ending, talk, errand)
        talk.say("go")
        talk.wait("powering off")
    return ending


# What a shell has for a command of which it knows no better.
_NO_STATUS = 255


def _until_command_ended(talk: Talk, errand: Errand) -> Ending:
    doing = "booting"
    ending = Ending(0)
    while True:
        word, _, rest = talk.line(doing).partition(" ")
        if word == "release":
            ending = replace(ending, release=rest)
        elif word == "notes":
            ending = _identified(replace(ending, build_id=_build_id(rest)), errand)
        elif word == "began":
            doing = "running the command"
            errand.tell("running the command")
        elif word == "status":
            return _judged(replace(ending, status=int(rest) if rest.isdecimal() else _NO_STATUS))


def _judged(ending: Ending) -> Ending:
    if ending.status in _NOT_RUN:
        raise GuestFailed(
            f"the command {_NOT_RUN[ending.status]} in the guest (status {ending.status}); name it by its path, or put "
            "what it needs into an --overlay folder"
        )
    return ending


def _identified(ending: Ending, errand: Errand) -> Ending:
    if errand.build_id and ending.build_id and ending.build_id != errand.build_id:
        raise NotRecorded(
            f"--vmlinux has the build-id {errand.build_id}, but the kernel that booted has {ending.build_id}; give the "
            "vmlinux of the same build"
        )
    return ending


def _build_id(notes: str) -> str | None:
    try:
        return build_id_in_notes(bytes.fromhex(notes))
    except ValueError:
        return None


def _with_memory(ending: Ending, qmp: Qmp, scratch: Path, errand: Errand) -> Ending:
    if not errand.dump:
        return ending
    errand.tell("dumping the guest's memory")
    memory = scratch / MEMORY_DUMP
    qmp.dump(memory)
    return replace(ending, memory=memory)


def _with_symbols(ending: Ending, talk: Talk, errand: Errand) -> Ending:
    if not errand.symbols:
        return ending
    errand.tell("asking for the kernel's symbols")
    talk.say("symbols")
    lines = iter(lambda: talk.line("listing the kernel's symbols"), END_OF_SYMBOLS)
    return replace(ending, symbols="\n".join(lines))
