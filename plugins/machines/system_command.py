# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of a whole emulated machine. Source: qemu-system(1), docs/system/invocation.rst of QEMU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Emulation, Guest
from linesmith.plugins.machines.guest_init import HOME
from linesmith.plugins.machines.tcg_plugin import escaped

INITRAMFS = "initramfs.cpio"


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


# Emulation is slow enough to look like a stall, to make the kernel give up the TSC for a shared slow clock, and, on a
# busy host, to look like a board whose timer is broken.
SLOW_WORDS = ("tsc=reliable", "nowatchdog", "rcupdate.rcu_cpu_stall_suppress=1", "no_timer_check")
# A host thread for each CPU of the guest.
EMULATED = ("-accel", "tcg,thread=multi")


def recording_command(
    program: str, guest: Guest, board: Board, emulation: Emulation, plugin: str, log: Path, qmp: int
) -> tuple[str, ...]:
    """QEMU's words to record; ``plugin`` is the argument of the plugin, ``log`` gets the console, ``qmp`` is a socket.

    Addresses are those of the ELF file without KASLR.
    """
    return (
        *system_command(program, guest, board, (*board.cpu, *_time(emulation)), ("nokaslr", *SLOW_WORDS), log),
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
    return (
        program,
        *board.words,
        *processor,
        *_topology(guest),
        *("-kernel", str(guest.kernel.resolve()), "-initrd", INITRAMFS),
        *("-append", " ".join((*words, "random.trust_cpu=on", *kernel_words, *guest.words))),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-chardev", f"file,id=console,path={escaped(log)}", "-serial", "chardev:console"),
        *("-chardev", "stdio,id=talk,signal=off", *_port(board)),
    )


def _time(emulation: Emulation) -> tuple[str, ...]:
    """With exact turns the clock counts instructions, so that the same seed gives the same recording."""
    if emulation.interleave == "exact":
        exact = ("-icount", "shift=0,sleep=off", "-rtc", "base=2020-01-01,clock=vm", "-seed", str(emulation.seed))
        return ("-accel", "tcg,thread=single", *exact)
    return EMULATED


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


def _port(board: Board) -> tuple[str, ...]:
    """The second serial port: a board has one of its own, or a card."""
    return ("-serial", "chardev:talk") if board.console == "ttyS0" else ("-device", "pci-serial,chardev=talk")


def nodes_of_cpus(guest: Guest) -> tuple[int, ...]:
    """The NUMA node of each CPU."""
    return tuple(cpu // (guest.cpus // guest.nodes) for cpu in range(guest.cpus))
