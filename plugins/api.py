# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols that plugins implement; a plugin imports this module, the model and the errors, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol, runtime_checkable

from linesmith.analyzer.model import Order, Profile, Recorded, Snapshot


@runtime_checkable
class ProfileSource(Protocol):
    """A reader of one kind of profile text."""

    name: str

    def recognises(self, head: str) -> bool:
        """Whether ``head`` (up to 64 KiB of the text) looks like this kind of profile."""

    def read(self, text: str, source: str) -> tuple[Profile, ...]:
        """Every report found in ``text``, in order; ``source`` names the file in messages.

        Raises ``ProfileError`` when the text holds no shared line, with the first line that was not understood.
        """


@runtime_checkable
class SnapshotSource(Protocol):
    """A reader of a kernel's memory that tells which objects lie where."""

    name: str

    def read(self, memory: Path, vmlinux: Path, addresses: Collection[int]) -> Snapshot:
        """The areas that hold ``addresses`` (kernel virtual), whole slab pages included.

        ``memory`` is an ELF dump of a guest (QEMU's ``dump-guest-memory``) or ``/proc/kcore``; ``vmlinux`` is the
        kernel with DWARF whose memory it is. Addresses of user space, and those whose memory cannot be told, are in
        no area. Raises ``SnapshotError`` when the memory cannot be read or is another kernel's, ``ToolMissing`` when
        a library is not installed.
        """


@runtime_checkable
class Recorder(Protocol):
    """A way to run a command and come back with a profile."""

    name: str

    def obstacle(self, order: Order) -> str | None:
        """Why this recorder cannot carry out the order here, a sentence without its full stop; ``None`` if it can."""

    def commands(self, order: Order) -> tuple[str, ...]:
        """The commands that ``record`` would run, as for a shell. Raises what ``record`` raises before it runs any."""

    def record(self, order: Order, scratch: Path, tell: Callable[[str], None]) -> Recorded:
        """Run the order's command; by-products go into ``scratch``, ``tell`` hears what is being done.

        Raises ``GuestFailed`` when the command or its machine fails, ``NotRecorded`` when nothing was recorded,
        ``KernelNotBootable``, ``ElfError`` or ``ToolMissing``.
        """
