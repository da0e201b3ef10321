# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine: QEMU boots the kernel that was built, with KVM where it works and emulated elsewhere."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linesmith.analyzer.base.child import Streams, child, find
from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.model import Built, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.guest import GuestOrder, QemuSettings, booted, steps_done
from linesmith.plugins.machines.here import host_facts, settings_of
from linesmith.plugins.machines.steps import Introduction, Transcript
from linesmith.plugins.machines.system import BOARDS, INITRAMFS, kvm_obstacle
from linesmith.plugins.machines.talk import GuestSigns, Talk

# The probe runs a few instructions; a kernel asks more of KVM.
_NOT_WITH_KVM = '; it ran under KVM: if no kernel boots here, set accelerator = "tcg"'


class QemuMachine:
    """A kernel in a virtual machine of its own, with a first file system that holds what the steps need."""

    name = "qemu"

    def obstacle(self, site: Site) -> str | None:
        """Why no guest can be booted here; ``None`` if one can."""
        board = BOARDS["x86_64"]
        try:
            settings = settings_of(site, QemuSettings)
            find(board.program, board.package)
        except LinesmithError as error:
            return str(error)
        if site.cpus % site.nodes:
            return f"{site.cpus} CPUs cannot be shared evenly by {site.nodes} nodes; choose numbers that can"
        return kvm_obstacle() if settings.accelerator == "kvm" else None

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:
        """The one command that ``run`` runs; what the guest runs is in its first file system."""
        order = GuestOrder(site, built, steps, Path("console.log"))
        order.check()
        return (shlex.join(order.command(order.expected_image())),)

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot and run the steps in order; the console and what the steps print stay in ``scratch``.

        Raises ``GuestNotBooted``, ``GuestPanicked``, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` and
        ``ToolMissing``.
        """
        order = GuestOrder(site, built, steps, scratch.absolute() / "console.log")
        order.check()
        image = order.image()
        archive = scratch / INITRAMFS
        archive.write_bytes(order.archive(image.machine))
        try:
            with _guest(order, order.command(image), scratch) as talk:
                return _session(order, talk, scratch, tell)
        finally:
            archive.unlink()


@contextmanager
def _guest(order: GuestOrder, command: tuple[str, ...], scratch: Path) -> Iterator[Talk]:
    """A conversation with a guest that ends with the block."""
    errors = scratch.absolute() / "qemu.errors"
    with (
        errors.open("wb") as complaints,
        child(command, scratch, Streams(subprocess.PIPE, subprocess.PIPE, complaints)) as process,
    ):
        yield Talk(GuestSigns(process, order.console, errors, "its limit"), order.site.seconds)


def _session(order: GuestOrder, talk: Talk, scratch: Path, tell: Tell) -> Session:
    before = host_facts()
    tell(f"booting the kernel of {order.built.key} ({order.accelerator})")
    began = time.monotonic()
    transcript = Transcript(talk, order.nonce)
    advice = _NOT_WITH_KVM if order.accelerator == "kvm" else ""
    introduction = booted(transcript, order.settings.boot_seconds, advice)
    boot_seconds = time.monotonic() - began
    done = steps_done(transcript, order.steps, order.console, scratch, tell)
    return Session(done, introduction.fact("release"), tuple(_facts(order, introduction, boot_seconds, before)))


def _facts(
    order: GuestOrder, introduction: Introduction, boot_seconds: float, before: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """What the guest said, how it was run, and the host around it."""
    yield "machine", f"QEMU, {order.accelerator}"
    if order.accelerator == "tcg" and (lacking := kvm_obstacle()):
        yield "emulated because", lacking
    yield "boot seconds", f"{boot_seconds:.1f}"
    yield from introduction.described()
    yield from ((f"host {name}", value) for name, value in before)
