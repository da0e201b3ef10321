# SPDX-License-Identifier: GPL-2.0-or-later
"""Another computer, reached by ssh: it boots the kernel that was built, or runs programs as it is."""

from __future__ import annotations

import shlex
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from linesmith.analyzer.base.errors import GuestFailed, GuestHung, GuestNotBooted, GuestPanicked, LinesmithError
from linesmith.analyzer.model import Built, Session, Site, Step
from linesmith.plugins.api import Tell
from linesmith.plugins.machines.here import joined, settings_of
from linesmith.plugins.machines.ssh import (
    KEXEC,
    KEXEC_WORDS,
    RemoteReply,
    RunningKernel,
    Shipment,
    Ssh,
    boot_script,
    come_back,
    kernel_to_boot,
    running_on,
    shipment,
)
from linesmith.plugins.machines.steps import (
    Transcript,
    check_cpus,
    functions_script,
    launch_script,
    shown,
    steps_script,
    words_of,
)
from linesmith.plugins.machines.talk import Console, Wire

_COPY_SECONDS = 600
_FILES, _SESSION, _LAUNCH, _BOOT = "files", "session", "launch", "boot"
_NONE, _KEXEC = "none", "kexec"

# When our side goes away, whatever the reason, the input ends, and with it everything of ours.
_LIFELINE = """\
exec 3>&1 4<&0 </dev/null >&2
main=$$
(cat <&4 >/dev/null; rm "$place/alive"; kill -9 $main; sweep; rm -rf "$place"; kill -9 0) 3>&- &
lifeline=$!
exec 4<&-
"""
_END = """\
kill $lifeline
cd /
rm -rf "$place"
"""


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """What a plan says of a host: how ssh reaches it, how it boots, and the folder there that ours are made in."""

    host: str
    options: str | tuple[str, ...] = ()
    boot: str = _NONE
    words: str | tuple[str, ...] = ()
    # mktemp makes a folder of our own in it; it outlives a boot.
    folder: str = "/var/tmp"  # noqa: S108
    boot_seconds: Annotated[int, Meta(ge=0)] = 600

    @property
    def ssh(self) -> Ssh:
        """The host, with the options that say how it is reached."""
        return Ssh(self.host, tuple(self.options.split()) if isinstance(self.options, str) else self.options)


class RemoteMachine:
    """A host that ssh reaches without being asked for a password."""

    name = "ssh"

    def obstacle(self, site: Site) -> str | None:
        """Why the host cannot be used; ``None`` when it can be reached. This connects to it."""
        try:
            settings = settings_of(site, RemoteSettings)
            answer = settings.ssh.call(("true",), b"", Path.cwd(), _COPY_SECONDS)
        except LinesmithError as error:
            return str(error)
        return None if answer.status == 0 else f"{settings.host} cannot be used: {answer.complaint}"

    def commands(self, site: Site, built: Built, steps: Sequence[Step]) -> tuple[str, ...]:
        """What is run there, as ssh is called for it; files are copied to a folder of our own first."""
        order = _RemoteOrder(site, built, steps, Path.cwd())
        shipped = order.shipment(f"{order.settings.folder}/linesmith.XXXXXX")
        boot = () if order.settings.boot == _NONE else (("sh", "-c", order.boot_script(shipped.root)),)
        ran = (shlex.split(shown(_there(step, shipped), order.words(step, shipped))) for step in steps)
        return tuple(shlex.join(order.ssh.argv(*words)) for words in (*boot, *ran))

    def run(self, site: Site, built: Built, steps: Sequence[Step], scratch: Path, tell: Tell) -> Session:
        """Boot there if that is asked for, and run the steps in order; what they print stays in ``scratch``.

        Raises ``GuestNotBooted`` when the host does not come back with the kernel that was built, ``GuestPanicked``
        when it boots again meanwhile, ``GuestHung``, ``GuestOutOfMemory``, ``GuestFailed`` and ``ToolMissing``.
        """
        order = _RemoteOrder(site, built, steps, scratch)
        running = order.reached()
        booted = 0.0
        if order.settings.boot != _NONE:
            tell(f"booting {order.ssh.host}")
            began = time.monotonic()
            running = order.booted(running)
            booted = time.monotonic() - began
        return order.session(running, booted, tell)


@dataclass(frozen=True, slots=True)
class _RemoteOrder:
    """What is to be done there; ``scratch`` is where what comes back is kept."""

    site: Site
    built: Built
    steps: Sequence[Step]
    scratch: Path

    @property
    def settings(self) -> RemoteSettings:
        return settings_of(self.site, RemoteSettings)

    @property
    def ssh(self) -> Ssh:
        return self.settings.ssh

    def reached(self) -> RunningKernel:
        """What runs there at first."""
        running = running_on(self.ssh, self.scratch)
        if running is None:
            why = self.ssh.call(("true",), b"", self.scratch, _COPY_SECONDS).complaint
            raise GuestFailed(
                f"{self.ssh.host} cannot be reached: {why}; check that `ssh {self.ssh.host}` works without a prompt"
            )
        return running

    def booted(self, before: RunningKernel) -> RunningKernel:
        """Have it boot the kernel that was built, and wait for it."""
        kernel = kernel_to_boot(self.built)
        place = self._place()
        try:
            self._boot(place)
            return come_back(self.ssh, before, kernel, self.settings.boot_seconds, self.scratch)
        finally:
            self.ssh.call(("rm", "-rf", place), b"", self.scratch, _COPY_SECONDS)

    def _boot(self, place: str) -> None:
        files = Shipment(tuple(path for _, path in self._kernels()), f"{place}/{_FILES}")
        self._send(files, place, {_BOOT: self.boot_script(files.root).encode()})
        answer = self.ssh.call(("sh", f"{place}/{_BOOT}"), b"", self.scratch, self.settings.boot_seconds)
        log = self.scratch / "boot.log"
        log.write_text(answer.output.decode("utf-8", "replace") + answer.errors, "utf-8")
        if answer.status and answer.connected:
            what = f"the boot command ended with status {answer.status}: {answer.complaint}"
            raise GuestNotBooted(f"{what}; its output is in {log}")

    def boot_script(self, root: str) -> str:
        """What is run there to boot, with kernels below ``root``."""
        words, template = joined(self.settings.words), self.settings.boot
        if template == _KEXEC:
            words, template = f"{KEXEC_WORDS} {words}", KEXEC
        return boot_script(template, {name: f"{root}{path.absolute()}" for name, path in self._kernels()}, words)

    def shipment(self, place: str) -> Shipment:
        """What the steps need, below ``place``."""
        return shipment([words_of(step, self.built) for step in self.steps], self.built, f"{place}/{_FILES}")

    def session(self, running: RunningKernel, booted: float, tell: Tell) -> Session:
        """Run the steps there."""
        for number, step in enumerate(self.steps, 1):
            check_cpus(step, number, running.cpus)
        place, nonce = self._place(), str(uuid.uuid4())
        shipped = self.shipment(place)
        steps = tuple((_there(step, shipped), self.words(step, shipped)) for step in self.steps)
        begin = f"b=\n{functions_script(shlex.quote(place), nonce)}{_LIFELINE}"
        script = f"{begin}{steps_script(steps, f'{place}/{_LAUNCH}')}{_END}".encode("utf-8", "surrogateescape")
        self._send(shipped, place, {_SESSION: script, _LAUNCH: launch_script().encode()})
        errors = self.scratch / "ssh.errors"
        with self.ssh.open(("sh", f"{place}/{_SESSION}"), self.scratch, errors) as process:
            wire = Wire(process.stdout, _RemoteSigns(self, running, errors), self.site.seconds)
            transcript = Transcript(wire, nonce)
            introduction = transcript.introduction(_COPY_SECONDS)
            done = tuple(transcript.done(step, number, self.scratch, tell) for number, step in enumerate(self.steps, 1))
        facts = [("machine", f"ssh {self.ssh.host}")]
        if self.settings.boot != _NONE:  # a kernel that was booted for this may have gone on after an oops
            facts.append(("boot seconds", f"{booted:.1f}"))
            log = self.scratch / "kernel.log"
            log.write_bytes(self.ssh.call(("dmesg",), b"", self.scratch, _COPY_SECONDS).output)
            if died := Console(log).death():
                raise GuestPanicked(f"the kernel of {self.ssh.host} died: {died}; its output is in {log}")
        return Session(done, introduction.fact("release"), (*facts, *introduction.described()))

    def words(self, step: Step, shipped: Shipment) -> tuple[str, ...]:
        """The words of a step as they are there."""
        return tuple(map(shipped.there, words_of(step, self.built)))

    def _kernels(self) -> list[tuple[str, Path]]:
        """The products that the boot command names."""
        template = KEXEC if self.settings.boot == _KEXEC else self.settings.boot
        return [(name, path) for name, path in self.built.products if f"{{{name}}}" in template]

    def _place(self) -> str:
        """A folder of our own there, on the last line of the output; it is removed later, so nothing else will do."""
        begin = f"{self.settings.folder}/linesmith."
        said = self._did("mktemp", "-d", f"{begin}XXXXXX").output.decode("utf-8", "replace").splitlines()
        if not said or not said[-1].startswith(begin):
            raise GuestFailed(
                f"mktemp on {self.ssh.host} names no folder below {self.settings.folder}; see what its shell says"
            )
        return said[-1]

    def _send(self, files: Shipment, place: str, others: dict[str, bytes]) -> None:
        self._did("tar", "-C", place, "-xof", "-", input_bytes=files.archive(others))

    def _did(self, *command: str, input_bytes: bytes = b"") -> RemoteReply:
        answer = self.ssh.call(command, input_bytes, self.scratch, _COPY_SECONDS)
        if answer.status:
            raise GuestFailed(f"`{shlex.join(command)}` failed on {self.ssh.host}: {answer.complaint}")
        return answer


def _there(step: Step, shipped: Shipment) -> Step:
    """The step with the paths in its environment as they are there."""
    environment = tuple((name, shipped.there(value)) for name, value in step.environment)
    return Step(step.command, step.seconds, step.cpus, environment, step.silent)


@dataclass(frozen=True, slots=True)
class _RemoteSigns:
    """How it shows that the host is gone; ``before`` ran when the steps began."""

    order: _RemoteOrder
    before: RunningKernel
    errors: Path

    def check(self, doing: str) -> None:
        """Nothing is known of it but what comes."""

    def late(self, doing: str, seconds: float) -> GuestFailed:
        """It may hang, or be slow."""
        return GuestHung(f"{self.order.ssh.host} was still {doing} after {seconds:.0f} s (its limit)")

    def ended(self, doing: str) -> GuestFailed:
        """The connection ended; find out whether the host booted anew, is out of reach, or neither."""
        host = self.order.ssh.host
        end = time.monotonic() + self.order.settings.boot_seconds
        while time.monotonic() < end:
            now = running_on(self.order.ssh, self.order.scratch)
            if now and now.boot != self.before.boot:
                return GuestPanicked(f"{host} booted anew while {doing}; look at its console, it may have panicked")
            if now:
                return GuestFailed(f"the connection to {host} ended while {doing}; see {self.errors}")
            time.sleep(1)
        return GuestHung(f"{host} went out of reach while {doing}, and did not come back; look at its console")
