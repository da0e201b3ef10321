# SPDX-License-Identifier: GPL-2.0-or-later
"""Another computer goes down and comes back with the kernel that was built, or with some other one."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from linesmith.analyzer.errors import ElfError, GuestFailed, GuestNotBooted, KernelNotBootable
from linesmith.analyzer.model import Built
from linesmith.plugins.machines.elf_image import build_id_in_notes, read_elf
from linesmith.plugins.machines.kernel_image import read_kernel
from linesmith.plugins.machines.ssh import Ssh

# The modules that its drivers are in are those of the kernel that runs; kexec(8).
KEXEC = """\
initrd=/boot/initrd.img-$(uname -r)
set --
[ ! -e "$initrd" ] || set -- --initrd="$initrd"
kexec --load {kernel} --reuse-cmdline --append={words} "$@" || exit
(sleep 1; systemctl kexec || kexec --exec) >/dev/null 2>&1 </dev/null &
"""
KEXEC_WORDS = ("panic=10", "oops=panic")
_ASK = (
    "cat /proc/sys/kernel/random/boot_id; uname -r; "
    "cat /sys/devices/system/cpu/online; od -An -v -tx1 /sys/kernel/notes"
)
_ASK_SECONDS = 30
_CPU_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_POLL_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Running:
    """A kernel that runs, on so many CPUs; ``boot`` is another text after each boot (random(4))."""

    boot: str
    release: str
    cpus: tuple[int, ...]
    build_id: str | None

    def __str__(self) -> str:
        return f"{self.release} (build-id {self.build_id or 'unknown'})"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What tells the kernel that was built: the build-id, or the release where that is not known."""

    release: str | None
    build_id: str | None

    def is_met_by(self, running: Running) -> bool:
        """Whether it is that kernel."""
        if self.build_id:
            return running.build_id == self.build_id
        return running.release == self.release

    def __str__(self) -> str:
        return f"build-id {self.build_id}" if self.build_id else f"release {self.release}"


def wanted_of(built: Built) -> Wanted:
    """Raises ``GuestNotBooted`` when the build has nothing that tells its kernel from others."""
    products = dict(built.products)
    try:
        build_id = read_elf(products["vmlinux"]).build_id if "vmlinux" in products else None
        release = read_kernel(products["kernel"]).release if "kernel" in products else None
    except (ElfError, KernelNotBootable) as error:
        raise GuestNotBooted(str(error)) from error
    if not (build_id or release):
        raise GuestNotBooted(
            f"the build {built.key} has neither a vmlinux with a build-id nor a kernel with a release, so that nobody "
            "could tell whether it has booted; keep vmlinux among its products"
        )
    return Wanted(release, build_id)


def running_on(ssh: Ssh, scratch: Path) -> Running | None:
    """What runs there; ``None`` when the computer cannot be reached."""
    try:
        answer = ssh.call(("sh", "-c", _ASK), b"", scratch, _ASK_SECONDS)
    except GuestFailed:
        return None
    boot, release, cpus, *notes = (*answer.output.decode("utf-8", "replace").split(), "", "", "")
    if not answer.connected or not cpus:
        return None
    return Running(boot, release, _cpus_in(cpus), _build_id("".join(notes)))


def _cpus_in(text: str) -> tuple[int, ...]:
    """CPUs of a list such as ``0-3,8``; none when it is no such list."""
    if not _CPU_LIST.fullmatch(text):
        return ()
    ranges = (part.partition("-") for part in text.split(","))
    return tuple(cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1))


def _build_id(notes: str) -> str | None:
    try:
        return build_id_in_notes(bytes.fromhex(notes))
    except ValueError:
        return None


def boot_script(template: str, places: dict[str, str], words: tuple[str, ...]) -> str:
    """The command with ``{kernel}``, ``{vmlinux}`` and ``{words}`` replaced, each as one word of the shell."""
    for name, value in (*places.items(), ("words", " ".join(words))):
        template = template.replace(f"{{{name}}}", shlex.quote(value))
    return f"{template}\n"


class Proof(Enum):
    """What shows that a computer has booted: another boot-id, or, where that never changes, that it was away."""

    BOOT_ID = "boot-id"
    ABSENCE = "absence"


@dataclass(frozen=True, slots=True)
class Return:
    """What is awaited of a computer that was told to boot, where ``before`` ran."""

    before: Running
    wanted: Wanted
    proof: Proof
    seconds: float


def come_back(ssh: Ssh, awaited: Return, scratch: Path) -> Running:
    """Wait until the computer has booted the kernel that is wanted.

    Raises ``GuestNotBooted`` when it comes back with another kernel, does not come back, or does not go down.
    """
    end = time.monotonic() + awaited.seconds
    away, last = False, None
    while time.monotonic() < end:
        last = running_on(ssh, scratch)
        away = away or last is None
        anew = last is not None and last.boot != awaited.before.boot
        if last and awaited.wanted.is_met_by(last) and (anew or (away and awaited.proof is Proof.ABSENCE)):
            return last
        if anew:
            break
        time.sleep(_POLL_SECONDS)
    raise GuestNotBooted(_not_back(ssh.host, awaited, last, away))


def _not_back(host: str, awaited: Return, last: Running | None, away: bool) -> str:
    if last is None:
        return f"{host} did not come back within {awaited.seconds:.0f} s; look at its console"
    if last.boot == awaited.before.boot and (not away or awaited.wanted.is_met_by(last)):
        return f"{host} did not go down within {awaited.seconds:.0f} s; see whether its boot command works there"
    return f"{host} came back with another kernel: {last}, wanted is {awaited.wanted}"
