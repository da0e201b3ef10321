# SPDX-License-Identifier: GPL-2.0-or-later
"""A computer that is reached by ssh, as the user's own configuration says; nobody is there to type a password.

Products of the build and other files that the words of steps name by a path go along, below a folder of ours. Files of
the system do not: the other computer has its own. It may go down and come back with the kernel that was built.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.child import Command, Streams, child, find, run_apart
from linesmith.analyzer.base.elf import build_id_in_hex
from linesmith.analyzer.base.errors import CommandTimedOut, ElfError, GuestFailed, GuestNotBooted, KernelNotBootable
from linesmith.analyzer.model import Built
from linesmith.plugins.machines.elf_image import absolute, read_elf
from linesmith.plugins.machines.guest_files import files_in_words
from linesmith.plugins.machines.system import read_kernel

_CONNECT_SECONDS = 10
_ENDING_SECONDS = 5
# ssh(1) ends with this status when it could not connect or was cut off.
_NO_CONNECTION = 255
_QUIET = ("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_SECONDS}")
_ALIVE = ("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=6")


@dataclass(frozen=True, slots=True)
class RemoteReply:
    """What a command there left."""

    status: int
    output: bytes
    errors: str

    @property
    def connected(self) -> bool:
        """Whether the other side was reached, and stayed until the end."""
        return self.status != _NO_CONNECTION

    @property
    def complaint(self) -> str:
        """The last line of the error output, or the status."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        return lines[-1] if lines else f"status {self.status}"


@dataclass(frozen=True, slots=True)
class Ssh:
    """Where to connect to; ``options`` are words for ssh itself, such as ``-p 2222``."""

    host: str
    options: tuple[str, ...] = ()

    def argv(self, *command: str) -> tuple[str, ...]:
        """The words that run ``command`` there; each of its words stays one, whatever the shell there is."""
        return (find("ssh", "openssh-client"), *_QUIET, *_ALIVE, *self.options, "--", self.host, shlex.join(command))

    def call(self, command: tuple[str, ...], input_bytes: bytes, scratch: Path, seconds: float) -> RemoteReply:
        """Run ``command`` there with ``input_bytes`` as its input; raises ``GuestFailed`` when it takes too long."""
        argv = self.argv(*command)
        try:
            ended = run_apart(Command(argv, scratch, seconds, variables=os.environ, input=input_bytes))
        except CommandTimedOut as error:
            raise GuestFailed(f"{self.host} did not do `{shlex.join(command)}` within {seconds:.0f} s") from error
        return RemoteReply(ended.status, ended.output, ended.errors)

    @contextmanager
    def open(self, command: tuple[str, ...], scratch: Path, errors: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run ``command`` there while the block lasts; its complaints go to ``errors``.

        Its input ends with the block, by which it knows that it has to end; it is given some time for that.
        """
        with (
            errors.open("wb") as file,
            child(self.argv(*command), scratch, Streams(subprocess.PIPE, subprocess.PIPE, file)) as process,
        ):
            try:
                yield process
            finally:
                if process.stdin:
                    process.stdin.close()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_ENDING_SECONDS)


_OF_THE_SYSTEM = (
    "/usr/",
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/etc/",
    "/proc/",
    "/sys/",
    "/dev/",
    "/run/",
    "/boot/",
)
# Where programs write; naming such a folder does not mean the files of ours that lie there.
_SHARED_FOLDERS = ("/", "/tmp", "/var/tmp", "/root", "/home")  # noqa: S108 - compared with, never written to


@dataclass(frozen=True, slots=True)
class Shipment:
    """Files by their path here; there they lie at the same path below ``root``."""

    files: tuple[Path, ...]
    root: str

    def archive(self, others: Mapping[str, bytes]) -> bytes:
        """All of them as a tar archive, relative to the folder above ``root``; ``others`` are further files by name."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
            for path in self.files:
                archive.add(path, f"{Path(self.root).name}{path}")
            for name, content in others.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(content), 0o755
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()

    def there(self, word: str) -> str:
        """The word with every path of a file that goes along, or of the folder that it lies in, as it is there."""
        folders = {str(path.parent) for path in self.files} - set(_SHARED_FOLDERS)
        # The longest first, so that a folder does not take the beginning of its file.
        places = sorted({*map(str, self.files), *folders}, key=len, reverse=True)
        if not places:
            return word
        pattern = rf"(?<![\w./-])(?:{'|'.join(map(re.escape, places))})(?![\w.-])"
        return re.sub(pattern, lambda found: f"{self.root}{found[0]}", word)


def shipment(commands: Sequence[tuple[str, ...]], built: Built, root: str) -> Shipment:
    """What the commands need of this computer; relative paths in them start from where we are."""
    text = "\0".join(word for command in commands for word in command)
    products = [path.absolute() for _, path in built.products if str(path.absolute()) in text]
    named = (absolute(path) for command in commands for path in files_in_words(command, Path.cwd()))
    ours = (path for path in named if not str(path).startswith(_OF_THE_SYSTEM))
    return Shipment(tuple(dict.fromkeys((*products, *ours))), root)


# The modules that its drivers are in are those of the kernel that runs; kexec(8).
KEXEC = """\
initrd=/boot/initrd.img-$(uname -r)
set --
[ ! -e "$initrd" ] || set -- --initrd="$initrd"
kexec --load {kernel} --reuse-cmdline --append={words} "$@" || exit
(sleep 1; systemctl kexec || kexec --exec) >/dev/null 2>&1 </dev/null &
"""
KEXEC_WORDS = "panic=10 oops=panic"
_ASK = (
    "cat /proc/sys/kernel/random/boot_id; uname -r; "
    "cat /sys/devices/system/cpu/online; od -An -v -tx1 /sys/kernel/notes"
)
_ASK_SECONDS = 30
_CPU_LIST = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_POLL_SECONDS = 1


@dataclass(frozen=True, slots=True)
class RunningKernel:
    """A kernel that runs, on so many CPUs; ``boot`` is another text after each boot (random(4))."""

    boot: str
    release: str
    cpus: tuple[int, ...]
    build_id: str | None

    @property
    def names(self) -> tuple[str, str]:
        """What tells it from others."""
        return f"build-id {self.build_id or 'unknown'}", f"release {self.release}"


def kernel_to_boot(built: Built) -> str:
    """The name of the kernel that was built: by its build-id, or its release where that is not known.

    Raises ``GuestNotBooted`` when the build has neither.
    """
    products = dict(built.products)
    try:
        build_id = read_elf(products["vmlinux"]).build_id if "vmlinux" in products else None
        release = read_kernel(products["kernel"]).release if "kernel" in products else None
    except (ElfError, KernelNotBootable) as error:
        raise GuestNotBooted(str(error)) from error
    if not (build_id or release):
        raise GuestNotBooted(
            f"the build {built.key} has neither a vmlinux with a build-id nor a kernel with a release, so its boot"
            " cannot be verified; add vmlinux to its products"
        )
    return f"build-id {build_id}" if build_id else f"release {release}"


def running_on(ssh: Ssh, scratch: Path) -> RunningKernel | None:
    """What runs there; ``None`` when the computer cannot be reached."""
    try:
        answer = ssh.call(("sh", "-c", _ASK), b"", scratch, _ASK_SECONDS)
    except GuestFailed:
        return None
    boot, release, cpus, *notes = (*answer.output.decode("utf-8", "replace").split(), "", "", "")
    if not answer.connected or not cpus:
        return None
    # CPUs are a list such as ``0-3,8``.
    ranges = [part.partition("-") for part in cpus.split(",")] if _CPU_LIST.fullmatch(cpus) else []
    usable = tuple(cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1))
    return RunningKernel(boot, release, usable, build_id_in_hex("".join(notes)))


def boot_script(template: str, places: dict[str, str], words: str) -> str:
    """The command with ``{kernel}``, ``{vmlinux}`` and ``{words}`` replaced, each as one word of the shell."""
    for name, value in (*places.items(), ("words", words)):
        template = template.replace(f"{{{name}}}", shlex.quote(value))
    return f"{template}\n"


def come_back(ssh: Ssh, before: RunningKernel, kernel: str, seconds: float, scratch: Path) -> RunningKernel:
    """Wait until the computer, where ``before`` ran, has booted the kernel that is wanted.

    Raises ``GuestNotBooted`` when it comes back with another kernel, does not come back, or does not go down.
    """
    end, last = time.monotonic() + seconds, None
    while time.monotonic() < end:
        last = running_on(ssh, scratch)
        if last and last.boot != before.boot:
            if kernel in last.names:
                return last
            raise GuestNotBooted(
                f"{ssh.host} came back with another kernel: {', '.join(last.names)}; wanted is {kernel}"
            )
        time.sleep(_POLL_SECONDS)
    if last is None:
        raise GuestNotBooted(f"{ssh.host} did not come back within {seconds:.0f} s; look at its console")
    raise GuestNotBooted(f"{ssh.host} did not go down within {seconds:.0f} s; see whether its boot command works there")
