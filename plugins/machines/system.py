# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command in a whole emulated machine, from its boot to its power-off.

Here are also the command line of such a machine (qemu-system(1), docs/system/invocation.rst of QEMU), the files that
QEMU can boot as a Linux kernel, and whether KVM really runs a guest here: its device may be there and never get
anywhere.
"""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from linesmith.analyzer.base.child import Streams, child
from linesmith.analyzer.base.elf import build_id_in_hex
from linesmith.analyzer.base.errors import GuestFailed, KernelNotBootable, NotRecorded
from linesmith.analyzer.model import Emulation, Guest
from linesmith.plugins.machines.elf_image import read_elf
from linesmith.plugins.machines.guest_files import END_OF_SYMBOLS, HOME
from linesmith.plugins.machines.talk import Console, GuestSigns, Qmp, Talk
from linesmith.plugins.machines.user import escaped

MEMORY_DUMP = "memory.elf"
_NOT_RUN = {126: "cannot be run", 127: "was not found"}
# What a shell has for a command of which it knows no better.
_NO_STATUS = 255
INITRAMFS = "initramfs.cpio"
# Emulation is slow enough to look like a stall, to make the kernel give up the TSC for a shared slow clock, and, on a
# busy host, to look like a board whose timer is broken.
SLOW_WORDS = ("tsc=reliable", "nowatchdog", "rcupdate.rcu_cpu_stall_suppress=1", "no_timer_check")
# A host thread for each CPU of the guest.
EMULATED = ("-accel", "tcg,thread=multi")
_HEAD_BYTES = 64 * 1024
KVM = ("-accel", "kvm")
KVM_CPU = ("-cpu", "host")
_DEVICE = Path("/dev/kvm")
_SECONDS = 5
_FIRMWARE_BYTES = 64 * 1024
# mov $0x31,%al; out %al,$0xf4: QEMU's exit device ends it with the status 2 * 0x31 + 1.
_RESET_CODE = b"\xb0\x31\xe6\xf4"
_RESET_FROM_END = 16
_STATUS_OF_SUCCESS = 0x63


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
class GuestRun:
    """What is wanted of the guest beyond running the command; ``build_id`` is the one that its kernel must have."""

    seconds: int
    dump: bool
    symbols: bool
    build_id: str | None
    tell: Callable[[str], None]


def run(command: Callable[[int], tuple[str, ...]], scratch: Path, log: Path, guest_run: GuestRun) -> Ending:
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
        talk = Talk(GuestSigns(process, Console(log), errors, "--timeout"), guest_run.seconds)
        guest_run.tell("booting")
        ending = _until_command_ended(talk, guest_run)
        qmp = Qmp(near, guest_run.seconds)
        ending = replace(ending, qemu=qmp.version)
        if guest_run.dump:
            guest_run.tell("dumping the guest's memory")
            ending = replace(ending, memory=scratch / MEMORY_DUMP)
            qmp.dump(scratch / MEMORY_DUMP)
        if guest_run.symbols:
            guest_run.tell("asking for the kernel's symbols")
            talk.say("symbols")
            lines = iter(lambda: talk.line("listing the kernel's symbols"), END_OF_SYMBOLS)
            ending = replace(ending, symbols="\n".join(lines))
        talk.say("go")
        talk.wait("powering off")
    return ending


def _until_command_ended(talk: Talk, guest_run: GuestRun) -> Ending:
    doing = "booting"
    ending = Ending(0)
    while True:
        word, _, rest = talk.line(doing).partition(" ")
        if word == "release":
            ending = replace(ending, release=rest)
        elif word == "notes":
            ending = replace(ending, build_id=build_id_in_hex(rest))
            if guest_run.build_id and ending.build_id and guest_run.build_id != ending.build_id:
                raise NotRecorded(
                    f"--vmlinux has the build-id {guest_run.build_id}, but the kernel that booted has "
                    f"{ending.build_id}; give the vmlinux of the same build"
                )
        elif word == "began":
            doing = "running the command"
            guest_run.tell("running the command")
        elif word == "status":
            ending = replace(ending, status=int(rest) if rest.isdecimal() else _NO_STATUS)
            if ending.status in _NOT_RUN:
                raise GuestFailed(
                    f"the command {_NOT_RUN[ending.status]} in the guest (status {ending.status}); name it by its "
                    "path, or put what it needs into an --overlay folder"
                )
            return ending


@dataclass(frozen=True, slots=True)
class Board:
    """A kind of machine: QEMU's words, those of its ``cpu`` when emulated, and Linux's names of its two ports."""

    program: str
    package: str
    words: tuple[str, ...]
    cpu: tuple[str, ...]
    console: str
    port: str


# Five-level page tables only move addresses about; pointer authentication in full is slow to emulate.
BOARDS = {
    "x86_64": Board("qemu-system-x86_64", "qemu-system-x86", ("-M", "q35"), ("-cpu", "max,la57=off"), "ttyS0", "ttyS1"),
    "aarch64": Board(
        "qemu-system-aarch64",
        "qemu-system-arm",
        ("-M", "virt,gic-version=3"),
        ("-cpu", "max,pauth-impdef=on"),
        "ttyAMA0",
        "ttyS0",
    ),
}


def recording_command(
    program: str, guest: Guest, board: Board, emulation: Emulation, plugin: str, log: Path, qmp: int
) -> tuple[str, ...]:
    """QEMU's words to record; ``plugin`` is the argument of the plugin, ``log`` gets the console, ``qmp`` is a socket.

    Addresses are those of the ELF file without KASLR.
    """
    clock: tuple[str, ...] = EMULATED
    if emulation.interleave == "exact":  # the clock counts instructions, so that a seed gives the same recording again
        exact = ("-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm", "-seed", str(emulation.seed))
        clock = ("-accel", "tcg,thread=single", *exact)
    return (
        *system_command(program, guest, board, (*board.cpu, *clock), ("nokaslr", *SLOW_WORDS), log),
        *("-chardev", f"socket,id=qmp,fd={qmp}", "-mon", "chardev=qmp,mode=control"),
        *("-plugin", plugin),
    )


def system_command(
    program: str, guest: Guest, board: Board, processor: Sequence[str], kernel_words: Sequence[str], log: Path
) -> tuple[str, ...]:
    """QEMU's words to boot the guest with our first file system; ``log`` gets the console.

    ``processor`` are the words for what executes it. A panic ends QEMU because a reboot does. The guest's own words
    come last.
    """
    words = (f"console={board.console}", "quiet", "panic=-1", "oops=panic", f"rdinit={HOME}/init")
    # The second serial port: a board has one of its own, or a card.
    port = ("-serial", "chardev:talk") if board.console == "ttyS0" else ("-device", "pci-serial,chardev=talk")
    return (
        program,
        *board.words,
        *processor,
        *_topology(guest),
        *("-kernel", str(guest.kernel.resolve()), "-initrd", INITRAMFS),
        *("-append", " ".join((*words, "random.trust_cpu=on", *kernel_words, *guest.words))),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-chardev", f"file,id=console,path={escaped(log)}", "-serial", "chardev:console"),
        *("-chardev", "stdio,id=talk,signal=off", *port),
    )


def _topology(guest: Guest) -> Iterator[str]:
    yield from ("-m", f"{guest.memory >> 20}M")
    if guest.nodes == 1:
        yield from ("-smp", str(guest.cpus))
        return
    share = guest.cpus // guest.nodes
    total = guest.memory >> 20
    yield from ("-smp", f"{guest.cpus},sockets={guest.nodes},cores={share},threads=1")
    for node in range(guest.nodes):
        memory = total * (node + 1) // guest.nodes - total * node // guest.nodes
        yield from ("-object", f"memory-backend-ram,id=node{node},size={memory}M")
        yield from ("-numa", f"node,nodeid={node},cpus={node * share}-{(node + 1) * share - 1},memdev=node{node}")


@dataclass(frozen=True, slots=True)
class KernelImage:
    """A bootable kernel; ``machine`` is ``x86_64`` or ``aarch64``, ``release`` is known of a bzImage only."""

    path: Path
    machine: str
    release: str | None = None


def read_kernel(path: Path) -> KernelImage:
    """What the file at ``path`` boots; raises ``KernelNotBootable`` when it is no kernel image.

    Source: Documentation/arch/x86/boot.rst, Documentation/arm64/booting.rst.
    """
    try:
        head = _head(path)
    except (OSError, EOFError, zlib.error) as error:
        raise KernelNotBootable(f"the kernel {path} cannot be read ({error}); name a readable bzImage") from error
    if head[0x202:0x206] == b"HdrS":
        return KernelImage(path, "x86_64", _release(head))
    if head[0x38:0x3C] == b"ARM\x64" or (head[:2] == b"MZ" and head[4:8] == b"zimg"):
        return KernelImage(path, "aarch64")
    if head[:4] == b"\x7fELF":
        return _elf_kernel(path)
    raise KernelNotBootable(
        f"{path} is not a bootable kernel; give --kernel the bzImage (x86-64: /boot/vmlinuz-*, or"
        " arch/x86/boot/bzImage of a build) or the Image (aarch64)"
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head[:2] == b"\x1f\x8b":
        with gzip.open(path) as unpacked:
            return unpacked.read(_HEAD_BYTES)
    return head


def _release(head: bytes) -> str | None:
    """The first word of the version text, whose place less 0x200 stands at 0x20e."""
    place = int.from_bytes(head[0x20E:0x210], "little")
    start = place + 0x200
    end = head.find(b"\0", start)
    words = head[start:end].decode("utf-8", "replace").split()
    return words[0] if place and words else None


def _elf_kernel(path: Path) -> KernelImage:
    """A vmlinux boots where it has the entry point for virtual machines (PVH), which is a note named Xen."""
    image = read_elf(path)
    if image.machine == "x86_64" and b"Xen\0" in image.notes:
        return KernelImage(path, image.machine)
    raise KernelNotBootable(
        f"{path} is an ELF file without an entry for virtual machines; give --kernel the bzImage of the same build, "
        "and this file as --vmlinux"
    )


def kvm_verdict() -> str:
    """What to say about KVM when something is recorded in a machine that is emulated, as a sentence without its end."""
    lacking = kvm_obstacle()
    if lacking is None:
        return "KVM runs guests here but cannot follow them, so this one is emulated"
    return f"{lacking}, and none is needed: what is followed is emulated"


@cache
def kvm_obstacle() -> str | None:
    """Why KVM runs no guest here, a sentence without its end; ``None`` when one ran.

    A firmware of two instructions is run for some seconds at most, once a process; it ends QEMU if it is executed.
    """
    machine = os.uname().machine
    qemu = shutil.which(f"qemu-system-{machine}")
    if not _DEVICE.exists():
        return "there is no KVM here"
    if machine != "x86_64" or qemu is None:
        return "there is no KVM that could be tried here"
    if not os.access(_DEVICE, os.R_OK | os.W_OK):
        return f"{_DEVICE} may not be used by this user"
    return None if _runs(qemu) else f"{_DEVICE} is here but runs no guest"


def _runs(qemu: str) -> bool:
    words = (*KVM, "-M", "q35", *KVM_CPU, "-m", "16M", "-display", "none", "-nodefaults", "-no-user-config")
    with TemporaryDirectory(prefix="linesmith-kvm-") as folder:
        firmware = Path(folder) / "firmware"
        code = _RESET_CODE.ljust(_RESET_FROM_END, b"\xf4")
        firmware.write_bytes(code.rjust(_FIRMWARE_BYTES, b"\xf4"))
        argv = (qemu, *words, "-device", "isa-debug-exit,iobase=0xf4,iosize=1", "-bios", str(firmware))
        with (
            (Path(folder) / "errors").open("wb") as errors,
            child(argv, Path(folder), Streams(subprocess.DEVNULL, subprocess.DEVNULL, errors)) as process,
            suppress(subprocess.TimeoutExpired),
        ):
            return process.wait(_SECONDS) == _STATUS_OF_SUCCESS
    return False
