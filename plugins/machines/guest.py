# SPDX-License-Identifier: GPL-2.0-or-later
"""What guests have in common, and what a virtual machine boots and runs: QEMU's words and a first file system.

Before a guest is ready nothing but booting fails, and want of memory explains all else.
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from linesmith.analyzer.base.child import find
from linesmith.analyzer.base.errors import GuestFailed, GuestNotBooted, GuestOutOfMemory, KernelNotBootable
from linesmith.analyzer.model import Built, Done, Guest, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines import system
from linesmith.plugins.machines.guest_files import HOME, init_script, initramfs, plan
from linesmith.plugins.machines.here import joined, settings_of
from linesmith.plugins.machines.steps import (
    Introduction,
    Transcript,
    check_cpus,
    functions_script,
    launch_script,
    steps_script,
    words_of,
)
from linesmith.plugins.machines.talk import Console
from linesmith.plugins.machines.user import counter_khz

_KERNELS = ("kernel", "vmlinux")
_PLACE = f"{HOME}/steps"
_LAUNCH = "launch"


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


@dataclass(frozen=True, slots=True)
class QemuSettings:
    """What a plan says of a virtual machine; a ``seed`` fixes what it takes for random numbers."""

    accelerator: Literal["auto", "kvm", "tcg"] = "auto"
    boot_seconds: Annotated[int, Meta(ge=0)] = 180
    kaslr: bool = True
    seed: Annotated[int, Meta(ge=0)] | None = None
    words: str | tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuestOrder:
    """What is to be done; ``log`` is where the console goes."""

    site: Site
    built: Built
    steps: Sequence[Step]
    log: Path
    nonce: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def settings(self) -> QemuSettings:
        """The site's, of this plugin; raises ``PlanError``."""
        return settings_of(self.site, QemuSettings)

    @property
    def console(self) -> Console:
        """Where the kernel speaks."""
        return Console(self.log)

    @property
    def accelerator(self) -> str:
        """``kvm`` where it runs guests, and is not forbidden; ``tcg`` elsewhere."""
        accelerator = self.settings.accelerator
        return "kvm" if accelerator == "kvm" or (accelerator == "auto" and system.kvm_obstacle() is None) else "tcg"

    def check(self) -> None:
        """Raise what is wrong with the order before anything is run."""
        settings_of(self.site, QemuSettings)
        for number, step in enumerate(self.steps, 1):
            check_cpus(step, number, range(self.site.cpus))

    def image(self) -> system.KernelImage:
        """The kernel that was built; raises ``GuestNotBooted`` when there is none that boots."""
        try:
            return system.read_kernel(kernel_of(self.built))
        except KernelNotBootable as error:
            raise GuestNotBooted(str(error)) from error

    def expected_image(self) -> system.KernelImage:
        """The kernel; one that is not built yet is taken for one of this host's kind."""
        path = kernel_of(self.built)
        return self.image() if path.exists() else system.KernelImage(path, platform.machine())

    def command(self, image: system.KernelImage) -> tuple[str, ...]:
        """QEMU's words to boot the image."""
        board = system.BOARDS[image.machine]
        site, settings = self.site, self.settings
        guest = Guest(image.path, None, site.cpus, site.nodes, site.memory, words=(joined(settings.words),))
        emulated = self.accelerator == "tcg" or image.machine != platform.machine()
        processor = (*board.cpu, *system.EMULATED) if emulated else (*system.KVM_CPU, *system.KVM)
        seed = () if settings.seed is None else ("-seed", str(settings.seed))
        kaslr = () if settings.kaslr else ("nokaslr",)
        return system.system_command(
            find(board.program, board.package),
            guest,
            board,
            (*processor, *seed),
            (*(emulated_words(image.machine) if emulated else ("nowatchdog",)), *kaslr),
            self.log,
        )

    def archive(self, machine: str) -> bytes:
        """The first file system; raises ``GuestNotBooted`` when the guest has no room for it."""
        commands = [words_of(step, self.built) for step in self.steps]
        contents = plan(commands, machine, self.site.overlay, Path.cwd())
        port = system.BOARDS[contents.machine].port
        script = steps_script(tuple(zip(self.steps, contents.commands, strict=True)), f"{HOME}/{_LAUNCH}")
        init = init_script(functions_script(_PLACE, self.nonce) + script, _PLACE, port)
        programs = {"init": init, _LAUNCH: launch_script().encode()}
        archive = initramfs(contents, programs, port)
        if 3 * len(archive) > self.site.memory:
            raise GuestNotBooted(
                f"the guest's files take {len(archive) >> 20} MiB, too much for {self.site.memory >> 20} MiB of "
                "memory; give the machine more"
            )
        return archive


def emulated_words(machine: str) -> tuple[str, ...]:
    """Words for an emulated kernel; one for x86 is told how fast its clock runs, which it may measure badly."""
    khz = counter_khz() if machine == platform.machine() else None
    return (*system.SLOW_WORDS, f"tsc_early_khz={khz}") if khz else system.SLOW_WORDS


def kernel_of(built: Built) -> Path:
    """The kernel of a build; raises ``GuestNotBooted`` when it has none."""
    products = dict(built.products)
    found = next((products[name] for name in _KERNELS if name in products), None)
    if found is None:
        raise GuestNotBooted(f"the build {built.key} has no product called kernel; name one that boots")
    return found
