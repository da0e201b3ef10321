# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine: QEMU boots the kernel that was built, with KVM where it works and emulated elsewhere.

What all guests have in common is here too. Before a guest is ready nothing but booting fails, and want of memory
explains all else.
"""

from __future__ import annotations

import platform
import shlex
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from linesmith.analyzer.base.child import Streams, child, find
from linesmith.analyzer.base.errors import (
    GuestFailed,
    GuestNotBooted,
    GuestOutOfMemory,
    KernelNotBootable,
    LinesmithError,
)
from linesmith.analyzer.model import Built, Done, Guest, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines import system
from linesmith.plugins.machines.guest_files import HOME, init_script, initramfs, plan
from linesmith.plugins.machines.here import host_facts, joined, settings_of
from linesmith.plugins.machines.steps import (
    Introduction,
    Transcript,
    check_cpus,
    functions_script,
    launch_script,
    steps_script,
    words_of,
)
from linesmith.plugins.machines.talk import Console, GuestSigns, Talk
from linesmith.plugins.machines.user import counter_khz

_KERNELS = ("kernel", "vmlinux")
_PLACE = f"{HOME}/steps"
_LAUNCH = "launch"
# The probe runs a few instructions; a kernel asks more of KVM.
_NOT_WITH_KVM = '; it ran under KVM: if no kernel boots here, set accelerator = "tcg"'


def booted(transcript: Transcript, seconds: float, advice: str) -> Introduction:
    """What the guest says of itself; whatever goes wrong before raises ``GuestNotBooted``, with the advice."""
    try:
        return transcript.introduction(seconds)
    except GuestFailed as error:
        raise GuestNotBooted(f"{error}{advice}") from error


def steps_done(
    transcript: Transcript, steps: Sequence[Step], console: Console, scratch: Path, tell: Tell
) -> tuple[Done, ...]:
    """How the steps ended; raises ``GuestOutOfMemory`` when the kernel killed for want of memory meanwhile."""
    failure: GuestFailed | None = None
    done: tuple[Done, ...] = ()
    try:
        done = tuple(transcript.done(step, number, scratch, tell) for number, step in enumerate(steps, 1))
    except GuestFailed as error:
        failure = error
    if starved := console.starved():
        raise GuestOutOfMemory(f"{starved}; give the machine more memory; its output is in {console.log}") from failure
    if failure:
        raise failure
    return done


def check_steps(site: Site, steps: Sequence[Step]) -> None:
    """Raises ``GuestFailed`` when a step is to run on a CPU that the guest has not."""
    for number, step in enumerate(steps, 1):
        check_cpus(step, number, range(site.cpus))


def emulated_words(machine: str) -> tuple[str, ...]:
    """Words for an emulated kernel; one for x86 has its clock's speed, which it may measure badly."""
    khz = counter_khz() if machine == platform.machine() else None
    return (*system.SLOW_WORDS, f"tsc_early_khz={khz}") if khz else system.SLOW_WORDS


def kernel_of(built: Built) -> Path:
    """The kernel of a build; raises ``GuestNotBooted`` when it has none."""
    products = dict(built.products)
    found = next((products[name] for name in _KERNELS if name in products), None)
    if found is None:
        raise GuestNotBooted(f"the build {built.key} has no product called kernel; name one that boots")
    return found


@dataclass(frozen=True, slots=True)
class QemuSettings:
    """What a plan says of a virtual machine."""

    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    boot_seconds: Annotated[int, Meta(ge=0)] = 180
    words: str | tuple[str, ...] = ()

    @property
    def uses_kvm(self) -> bool:
        """Whether KVM is asked for, or not forbidden and runs guests here."""
        return self.accelerator == "kvm" or (self.accelerator == "auto" and system.kvm_obstacle() is None)


class QemuMachine:
    """A kernel in a virtual machine of its own, with a first file system that holds what the steps need."""

    name = "qemu"

    def obstacle(self, site: Site) -> str | None:
        """Why no guest can be booted here; ``None`` if one can."""
        board = system.BOARDS["x86_64"]
        try:
            settings = settings_of(site, QemuSettings)
            find(board.program, board.package)
        except LinesmithError as error:
            return str(error)
        if site.cpus % site.nodes:
            return f"{site.cpus} CPUs cannot be shared evenly by {site.nodes} nodes; choose numbers that can"
        return system.kvm_obstacle() if settings.accelerator == "kvm" else None

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:
        """The one command that ``run`` runs; what the guest runs is in its first file system."""
        check_steps(site, steps)
        path = kernel_of(built)
        # One that is not built yet is taken for one of this host's kind.
        image = _image(built) if path.exists() else system.KernelImage(path, platform.machine())
        return (shlex.join(_command(site, image, Path("console.log"))),)

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot and run the steps in order; the console and what the steps print stay in ``scratch``.

        Raises ``GuestNotBooted``, ``GuestPanicked``, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` and
        ``ToolMissing``.
        """
        settings = settings_of(site, QemuSettings)
        check_steps(site, steps)
        image, console = _image(built), Console(scratch.absolute() / "console.log")
        nonce, before = str(uuid.uuid4()), host_facts()
        archive = scratch / system.INITRAMFS
        archive.write_bytes(_archive(site, built, steps, image.machine, nonce))
        accelerator = "kvm" if settings.uses_kvm else "tcg"
        tell(f"booting the kernel of {built.key} ({accelerator})")
        began = time.monotonic()
        try:
            with _guest(_command(site, image, console.log), site, console, scratch) as talk:
                transcript = Transcript(talk, nonce)
                introduction = booted(transcript, settings.boot_seconds, _NOT_WITH_KVM if settings.uses_kvm else "")
                boot_seconds = time.monotonic() - began
                done = steps_done(transcript, steps, console, scratch, tell)
        finally:
            archive.unlink()
        lacking = None if settings.uses_kvm else system.kvm_obstacle()
        facts = (
            ("machine", f"QEMU, {accelerator}"),
            *((("emulated because", lacking),) if lacking else ()),
            ("boot seconds", f"{boot_seconds:.1f}"),
            *introduction.described(),
            *((f"host {name}", value) for name, value in before),
        )
        return Session(done, introduction.fact("release"), facts)


def _image(built: Built) -> system.KernelImage:
    try:
        return system.read_kernel(kernel_of(built))
    except KernelNotBootable as error:
        raise GuestNotBooted(str(error)) from error


def _command(site: Site, image: system.KernelImage, log: Path) -> tuple[str, ...]:
    """QEMU's words to boot the image; ``log`` is where the console goes."""
    board, settings = system.BOARDS[image.machine], settings_of(site, QemuSettings)
    guest = Guest(image.path, None, site.cpus, site.nodes, site.memory, words=(joined(settings.words),))
    emulated = not settings.uses_kvm or image.machine != platform.machine()
    return system.system_command(
        find(board.program, board.package),
        guest,
        board,
        (*board.cpu, *system.EMULATED) if emulated else (*system.KVM_CPU, *system.KVM),
        emulated_words(image.machine) if emulated else ("nowatchdog",),
        log,
    )


def _archive(site: Site, built: Built, steps: Sequence[Step], machine: str, nonce: str) -> bytes:
    """The first file system; raises ``GuestNotBooted`` when the guest has no room for it."""
    contents = plan([words_of(step, built) for step in steps], machine, site.overlay, Path.cwd())
    port = system.BOARDS[machine].port
    script = steps_script(tuple(zip(steps, contents.commands, strict=True)), f"{HOME}/{_LAUNCH}")
    init = init_script(functions_script(_PLACE, nonce) + script, _PLACE, port)
    archive = initramfs(contents, {"init": init, _LAUNCH: launch_script().encode()}, port)
    if 3 * len(archive) > site.memory:
        raise GuestNotBooted(
            f"the guest's files take {len(archive) >> 20} MiB, too much for {site.memory >> 20} MiB of memory; give the"
            " machine more"
        )
    return archive


@contextmanager
def _guest(command: tuple[str, ...], site: Site, console: Console, scratch: Path) -> Iterator[Talk]:
    """A conversation with a guest that ends with the block."""
    errors = scratch.absolute() / "qemu.errors"
    # What an earlier guest printed before its end is not printed by this one.
    console.log.unlink(missing_ok=True)
    with (
        errors.open("wb") as complaints,
        child(command, scratch, Streams(subprocess.PIPE, subprocess.PIPE, complaints)) as process,
    ):
        yield Talk(GuestSigns(process, console, errors, "its limit"), site.seconds)
