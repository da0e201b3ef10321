# SPDX-License-Identifier: GPL-2.0-or-later
"""virtme-ng: the kernel that was built, on a snapshot of this host's own file system, read over 9p or virtiofs."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from linesmith.analyzer.base.child import find, guarded
from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.base.keeper import KeeperOrder
from linesmith.analyzer.model import Built, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.here import joined, settings_of
from linesmith.plugins.machines.qemu import booted, check_steps, emulated_words, kernel_of, steps_done
from linesmith.plugins.machines.steps import (
    MOST_BYTES,
    Transcript,
    functions_script,
    launch_script,
    steps_script,
    words_of,
)
from linesmith.plugins.machines.system import kvm_obstacle
from linesmith.plugins.machines.talk import Console, GuestSigns, Wire

_ADVICE = "; virtme-ng needs a kernel with virtio and 9p or virtiofs, built in or as modules beside it"
_PIPE, _SESSION, _LAUNCH, _CONSOLE = "talk", "session", "launch", "console.log"


@dataclass(frozen=True, slots=True)
class VirtmeSettings:
    """What a plan says of such a guest; KVM is used where it runs guests."""

    boot_seconds: Annotated[int, Meta(ge=0)] = 300
    words: str | tuple[str, ...] = ()


class VirtmeMachine:
    """A guest whose files are those of this host; what it writes is lost with it."""

    name = "virtme-ng"

    def obstacle(self, site: Site) -> str | None:
        """Why virtme-ng cannot be used here; ``None`` if it can."""
        try:
            settings_of(site, VirtmeSettings)
        except LinesmithError as error:
            return str(error)
        if shutil.which("vng") is None:
            return "vng is not installed; install virtme-ng from the distribution or from PyPI"
        if site.overlay:
            return "the machine virtme-ng has this host's files; an overlay is for the machine qemu"
        return "the machine virtme-ng has one node here; choose qemu for more" if site.nodes > 1 else None

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:  # noqa: ARG002
        """The one command that ``run`` runs; what the guest runs is in a script next to the log."""
        return (shlex.join(_command(site, built, Path.cwd())),)

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot and run the steps in order; the console and what the steps print stay in ``scratch``.

        Raises ``GuestNotBooted``, ``GuestPanicked``, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` and
        ``ToolMissing``.
        """
        settings = settings_of(site, VirtmeSettings)
        check_steps(site, steps)
        scratch, nonce = scratch.absolute(), str(uuid.uuid4())
        (scratch / _LAUNCH).write_text(launch_script(), "utf-8")
        port = "stty -F /dev/ttyS1 raw -echo\nexec 3>/dev/ttyS1 </dev/null\n"
        ran = tuple((step, words_of(step, built)) for step in steps)
        script = f"b= \n{port}{functions_script('$(mktemp -d)', nonce)}{steps_script(ran, str(scratch / _LAUNCH))}"
        (scratch / _SESSION).write_text(script, "utf-8", "surrogateescape")
        tell(f"booting the kernel of {built.key} (virtme-ng)")
        with _guest(site, built, scratch) as wire:
            transcript = Transcript(wire, nonce)
            introduction = booted(transcript, settings.boot_seconds, _ADVICE)
            done = steps_done(transcript, steps, Console(scratch / _CONSOLE), scratch, tell)
        machine = ("machine", f"virtme-ng, {'tcg' if kvm_obstacle() else 'kvm'}")
        return Session(done, introduction.fact("release"), (machine, *introduction.described()))


def _command(site: Site, built: Built, scratch: Path) -> tuple[str, ...]:
    """The words of vng, whose complaints are the kernel's console; ours is a second serial port."""
    emulated = kvm_obstacle() is not None
    words = (
        "panic=-1",
        "oops=panic",
        *(emulated_words(platform.machine()) if emulated else ()),
        joined(settings_of(site, VirtmeSettings).words),
    )
    return (
        *(find("vng", "virtme-ng"), "--run", str(kernel_of(built).absolute()), "--user", "root", "--verbose"),
        *("--cpus", str(site.cpus), "--memory", f"{site.memory >> 20}M", "--disable-microvm"),
        *(("--disable-kvm",) if emulated else ()),
        *(part for word in filter(None, words) for part in ("--append", word)),
        f"--qemu-opts=-chardev pipe,id=talk,path={shlex.quote(str(scratch / _PIPE))} -serial chardev:talk",
        *("--exec", shlex.join(("sh", str(scratch / _SESSION)))),
    )


@contextmanager
def _guest(site: Site, built: Built, scratch: Path) -> Iterator[Wire]:
    """What comes from a guest that ends with the block."""
    log, output = scratch / _CONSOLE, scratch / "vng.output"
    pipes = (scratch / f"{_PIPE}.in", scratch / f"{_PIPE}.out")
    for left_over in (*pipes, log):
        left_over.unlink(missing_ok=True)
    for pipe in pipes:
        os.mkfifo(pipe)
    command = _command(site, built, scratch)
    # A pipe that we hold open at both ends never ends by itself, and opens at once.
    descriptor = os.open(pipes[1], os.O_RDWR)
    with (
        os.fdopen(descriptor, "r+b", buffering=0) as stream,
        output.open("wb") as to_output,
        log.open("wb") as to_log,
        guarded(
            KeeperOrder(
                command, str(scratch), dict(os.environ), to_output.fileno(), to_log.fileno(), site.seconds, MOST_BYTES
            ),
            str(log),
        ) as process,
    ):
        yield Wire(stream, _VirtmeSigns(process, Console(log), output, "its limit"), site.seconds)


class _VirtmeSigns(GuestSigns):
    """How it shows that a guest is gone: its console, or the end of whoever runs it."""

    def check(self, doing: str) -> None:
        """Raise ``GuestPanicked``, or ``GuestFailed`` when vng has ended."""
        super().check(doing)
        if self.process.poll() is not None:
            raise self.ended(doing)
