# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernel's slab caches hold the objects: its release, its CPUs, and what it says of its caches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click

from linesmith.analyzer.model import ElfIdentity
from linesmith.analyzer.slab import Kernel, machine_of, measured_caches, release_of

_RELEASE = re.compile(r"(\d{1,3})\.(\d{1,3})(?:[.-].*)?\Z")


@dataclass(frozen=True, slots=True)
class Running:
    """What the command line says of the kernel: its ``release`` (``None``: as ELF says), and the machine."""

    cpus: int
    page_bytes: int
    release: str | None = None
    slabinfo: Path | None = None


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """The kernel of an ELF file; ``named`` tells that its release is known, not taken for the usual one."""

    kernel: Kernel
    named: bool


def kernel_of(elf: Path, identity: ElfIdentity, running: Running) -> KnownKernel:
    """The kernel that ``elf`` is or runs on.

    Raises ``click.UsageError`` for what is no release, ``SlabFactsError`` for a file that says nothing of caches.
    """
    release = _release(running.release) if running.release else release_of(elf)
    machine = machine_of(identity.machine, release, running.cpus, running.page_bytes)
    measured = measured_caches(running.slabinfo, running.page_bytes) if running.slabinfo else {}
    return KnownKernel(Kernel(machine, measured), release is not None)


def _release(text: str) -> tuple[int, int]:
    match = _RELEASE.match(text)
    if match is None:
        raise click.UsageError(f"--kernel {text} is no release; write it like 6.12")
    return int(match[1]), int(match[2])
