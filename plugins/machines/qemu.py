# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual machine: QEMU boots the kernel that was built, with KVM where it works and emulated elsewhere."""

from __future__ import annotations

import platform
import shlex
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.errors import (
    GuestFailed,
    GuestNotBooted,
    GuestOutOfMemory,
    KernelNotBootable,
    LinesmithError,
)
from linesmith.analyzer.model import Built, Guest, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.child import Streams, child, find
from linesmith.plugins.machines.console import Console
from linesmith.plugins.machines.guest_files import Contents, initramfs, plan
from linesmith.plugins.machines.guest_init import HOME, init_script
from linesmith.plugins.machines.host_facts import host_facts
from linesmith.plugins.machines.kernel_image import KernelImage, read_kernel
from linesmith.plugins.machines.kvm import KVM, KVM_CPU, kvm_obstacle
from linesmith.plugins.machines.site_settings import SiteSettings
from linesmith.plugins.machines.step_words import check_cpus, words_of
from linesmith.plugins.machines.steps_script import MARK, launch_script, steps_script
from linesmith.plugins.machines.system_command import BOARDS, EMULATED, INITRAMFS, SLOW_WORDS, system_command
from linesmith.plugins.machines.talk import Talk
from linesmith.plugins.machines.transcript import Introduction, Transcript

_KERNELS = ("kernel", "vmlinux")
_SETTINGS = ("accelerator", "boot_seconds", "kaslr", "seed", "words")
_ACCELERATORS = ("auto", "kvm", "tcg")
_BOOT_SECONDS = 180
_PLACE = f"{HOME}/steps"
_LAUNCH = "launch"


class QemuMachine:
    """A kernel in a virtual machine of its own, with a first file system that holds what the steps need."""

    name = "qemu"

    def obstacle(self, site: Site) -> str | None:
        """Why no guest can be booted here; ``None`` if one can."""
        settings = SiteSettings(site, _SETTINGS)
        if unknown := settings.unknown():
            return unknown
        board = BOARDS["x86_64"]
        try:
            wanted = settings.text("accelerator", "auto")
            find(board.program, board.package)
        except LinesmithError as error:
            return str(error)
        if wanted not in _ACCELERATORS:
            return f"the accelerator {wanted} is unknown; name one of {', '.join(_ACCELERATORS)}"
        if site.cpus % site.nodes:
            return f"{site.cpus} CPUs cannot be shared evenly by {site.nodes} nodes; choose numbers that can"
        return kvm_obstacle() if wanted == "kvm" else None

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:
        """The one command that ``run`` runs; what the guest runs is in its first file system."""
        order = _Order(site, built, steps, Path("console.log"))
        order.check()
        return (shlex.join(order.command()),)

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot once and run the steps in order; the console and what the steps print stay in ``scratch``.

        Raises ``GuestNotBooted``, ``GuestPanicked``, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` and
        ``ToolMissing``.
        """
        order = _Order(site, built, steps, scratch.absolute() / "console.log")
        order.check()
        command = order.command()
        archive = scratch / INITRAMFS
        archive.write_bytes(order.archive())
        try:
            with _guest(command, scratch, order.console, site.seconds) as talk:
                return _session(order, talk, scratch, tell)
        finally:
            archive.unlink()


@dataclass(frozen=True, slots=True)
class _Order:
    """What is to be done; ``log`` is where the console goes."""

    site: Site
    built: Built
    steps: Sequence[Step]
    log: Path
    nonce: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def settings(self) -> SiteSettings:
        return SiteSettings(self.site, _SETTINGS)

    @property
    def console(self) -> Console:
        return Console(self.log)

    @property
    def accelerator(self) -> str:
        wanted = self.settings.text("accelerator", "auto")
        native = self.image().machine == platform.machine()
        return "kvm" if wanted == "kvm" or (wanted == "auto" and native and kvm_obstacle() is None) else "tcg"

    def check(self) -> None:
        """Raise what is wrong with the order before anything is run."""
        for number, step in enumerate(self.steps, 1):
            check_cpus(step, number, range(self.site.cpus))
        self.contents()

    def image(self) -> KernelImage:
        """The kernel that was built; raises ``GuestNotBooted`` when there is none that boots."""
        products = dict(self.built.products)
        found = next((products[name] for name in _KERNELS if name in products), None)
        if found is None:
            raise GuestNotBooted(f"the build {self.built.key} has no product called kernel; name one that boots")
        try:
            return read_kernel(found)
        except KernelNotBootable as error:
            raise GuestNotBooted(str(error)) from error

    def command(self) -> tuple[str, ...]:
        """QEMU's words."""
        image = self.image()
        board = BOARDS[image.machine]
        site = self.site
        guest = Guest(image.path, None, site.cpus, site.nodes, site.memory, words=self.settings.words("words"))
        emulated = self.accelerator == "tcg"
        processor = (*board.cpu, *EMULATED) if emulated else (*KVM_CPU, *KVM)
        return system_command(
            find(board.program, board.package),
            guest,
            board,
            (*processor, *self._seed()),
            (*(SLOW_WORDS if emulated else ("nowatchdog",)), *self._kaslr()),
            self.log,
        )

    def contents(self) -> Contents:
        """What the guest's first file system holds."""
        commands = [words_of(step, self.built) for step in self.steps]
        return plan(commands, self.image().machine, self.site.overlay, Path.cwd())

    def archive(self) -> bytes:
        """The first file system; raises ``GuestNotBooted`` when the guest has no room for it."""
        contents = self.contents()
        port = BOARDS[contents.machine].port
        programs = {"init": self._init(contents, port), _LAUNCH: launch_script().encode()}
        archive = initramfs(contents, programs, port)
        if 3 * len(archive) > self.site.memory:
            raise GuestNotBooted(
                f"the guest's files take {len(archive) >> 20} MiB, too much for {self.site.memory >> 20} MiB of "
                "memory; give the machine more"
            )
        return archive

    def _kaslr(self) -> tuple[str, ...]:
        return () if self.settings.switch("kaslr", True) else ("nokaslr",)

    def _seed(self) -> tuple[str, ...]:
        seed = self.settings.number("seed")
        return () if seed is None else ("-seed", str(seed))

    def _init(self, contents: Contents, port: str) -> bytes:
        begin = f"place={_PLACE} nonce={self.nonce} mark={MARK}={uuid.uuid4()}\n"
        script = steps_script(tuple(zip(self.steps, contents.commands, strict=True)), f"{HOME}/{_LAUNCH}")
        return init_script(begin + script, _PLACE, port)


@contextmanager
def _guest(command: tuple[str, ...], scratch: Path, console: Console, seconds: float) -> Iterator[Talk]:
    """A conversation with a guest that ends with the block."""
    errors = scratch.absolute() / "qemu.errors"
    with (
        errors.open("wb") as complaints,
        child(command, scratch, Streams(subprocess.PIPE, subprocess.PIPE, complaints)) as process,
    ):
        yield Talk(process, console, errors, seconds)


def _session(order: _Order, talk: Talk, scratch: Path, tell: Tell) -> Session:
    before = host_facts()
    tell(f"booting {order.image().path} ({order.accelerator})")
    began = time.monotonic()
    transcript = Transcript(talk, order.nonce)
    introduction = _booted(order, talk, transcript)
    boot_seconds = time.monotonic() - began
    try:
        done = tuple(transcript.done(step, number, scratch, tell) for number, step in enumerate(order.steps, 1))
    except GuestFailed as error:
        if starved := order.console.starved():
            raise GuestOutOfMemory(f"{starved}; give the machine more memory; then {error}") from error
        raise
    if starved := order.console.starved():
        raise GuestOutOfMemory(f"{starved}; give the machine more memory; all it said is in {order.log}")
    return Session(done, introduction.fact("release"), tuple(_facts(order, introduction, boot_seconds, before)))


def _booted(order: _Order, talk: Talk, transcript: Transcript) -> Introduction:
    """Whatever goes wrong before the guest is ready to run steps is a failure to boot."""
    talk.limit(order.settings.number("boot_seconds") or _BOOT_SECONDS)
    try:
        return transcript.introduction()
    except GuestFailed as error:
        raise GuestNotBooted(str(error)) from error


def _facts(
    order: _Order, introduction: Introduction, boot_seconds: float, before: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """What the guest said, how it was run, and the host around it."""
    yield "machine", f"QEMU, {order.accelerator}"
    if order.accelerator == "tcg" and (lacking := kvm_obstacle()):
        yield "emulated because", lacking
    yield "boot seconds", f"{boot_seconds:.1f}"
    if build_id := introduction.build_id:
        yield "build-id", build_id
    yield from ((name, value) for name, value in introduction.facts if name not in ("release", "notes"))
    yield from ((f"host {name}", value) for name, value in before)
