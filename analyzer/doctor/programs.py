# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs and libraries that commands call: what is there, which release, and the command that would install it.

Programs are asked what they are, within a time limit; a library is not loaded for it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from linesmith.analyzer.base.child import Command, Ended, run
from linesmith.analyzer.base.errors import LinesmithError, ToolMissing, install_command
from linesmith.analyzer.model import Check, Readiness
from linesmith.patches.scan import program as source_scan

_SECONDS = 10
_RELEASE = re.compile(r"\d+(?:\.\d+)+")


def release_in(done: Ended | None) -> str:
    """The release in what a program has said; empty where it did not end, or otherwise than well."""
    match = _RELEASE.search(done.output) if done and done.status == 0 else None
    return match[0] if match else ""


def ended(*argv: str, seconds: int = _SECONDS) -> Ended | None:
    """How the command ended; ``None`` where it cannot be run or did not end in time."""
    try:
        return run(Command(argv, Path("/"), seconds))
    except LinesmithError:
        return None


# How packages are installed here.

# By package of Debian: what Fedora, Arch and openSUSE call it; the same name where nothing is said.
_ELSEWHERE: dict[str, tuple[str, str, str]] = {
    "dwarves": ("dwarves", "pahole", "dwarves"),
    "gcc-aarch64-linux-gnu": ("gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "cross-aarch64-gcc14"),
    "gcc-riscv64-linux-gnu": ("gcc-riscv64-linux-gnu", "riscv64-linux-gnu-gcc", "cross-riscv64-gcc14"),
    "linux-perf": ("perf", "perf", "perf"),
    "libclang-19-dev llvm-19-dev": ("clang-devel llvm-devel", "clang llvm", "clang-devel llvm-devel"),
    "openssh-client": ("openssh-clients", "openssh", "openssh-clients"),
    "qemu-system-x86": ("qemu-system-x86", "qemu-system-x86", "qemu-x86"),
    "qemu-system-arm": ("qemu-system-aarch64", "qemu-system-aarch64", "qemu-arm"),
    "qemu-user": ("qemu-user", "qemu-user", "qemu-linux-user"),
    "busybox-static": ("busybox", "busybox", "busybox-static"),
    "virtme-ng": ("virtme-ng", "virtme-ng", "virtme"),
}
_FAMILIES = {"fedora": 0, "rhel": 0, "arch": 1, "suse": 2, "opensuse": 2}
_COMMANDS = ("dnf install", "pacman -S", "zypper install")
_UBUNTU = {"linux-perf": "linux-tools-generic linux-tools-$(uname -r)"}


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution by its words for itself, the narrowest first; ``root`` tells that no ``sudo`` is needed."""

    words: tuple[str, ...]
    root: bool

    def install(self, package: str) -> str:
        """The command that installs what Debian calls ``package``, here."""
        if {"debian", "ubuntu"} & set(self.words):
            named = _UBUNTU.get(package, package) if "ubuntu" in self.words else package
            return self.as_root(f"apt-get install {named}")
        family = next((_FAMILIES[word] for word in self.words if word in _FAMILIES), None)
        if family is None:
            return f"install the package that Debian calls {package}"
        return self.as_root(f"{_COMMANDS[family]} {_ELSEWHERE.get(package, (package,) * 3)[family]}")

    def as_root(self, command: str) -> str:
        """A command that only root may run."""
        return command if self.root else f"sudo {command}"


def this_distribution() -> Distribution:
    """What this machine runs. See os-release(5)."""
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        facts = {}
    words = (facts.get("ID", ""), *facts.get("ID_LIKE", "").split())
    return Distribution(tuple(word for word in words if word), os.geteuid() == 0)


CHANGE = "change"
PROVE = "prove"
_RECOMPILED = ("patch", "encapsulate", "inline", "bench", "tune", "demo")


@dataclass(frozen=True, slots=True)
class Tool:
    """One of several names is enough; ``package`` is Debian's, ``option`` asks it for its release."""

    area: str
    title: str
    names: tuple[str, ...]
    package: str
    purpose: str
    needed_by: tuple[str, ...] = ()
    option: str = "--version"


# What tools for a machine are called, and the options that compile for it.
_MACHINES = (
    ("arm64", "aarch64-linux-gnu", "`--on arm64` and `--matrix`"),
    ("arm", "arm-linux-gnueabihf", "`--on arm`"),
    ("powerpc", "powerpc64le-linux-gnu", "`--on powerpc`"),
    ("riscv", "riscv64-linux-gnu", "`--on riscv`"),
    ("s390", "s390x-linux-gnu", "`--on s390`"),
)
PROGRAMS = (
    Tool(CHANGE, "C compiler", ("gcc", "clang", "cc"), "gcc", "confirms patches by compiling them", _RECOMPILED),
    Tool(CHANGE, "coccinelle", ("spatch",), "coccinelle", "edits all users of a member", ("encapsulate", "inline")),
    Tool(CHANGE, "git", ("git",), "git", "reads revisions, and lists who to send patches to"),
    Tool(CHANGE, "clang", ("clang", "clang-19"), "clang", "trees that are configured for clang, and `--matrix`"),
    *(
        Tool(CHANGE, f"compiler for {machine}", (f"{tools}-gcc",), f"gcc-{tools}", f"patches under {options}")
        for machine, tools, options in _MACHINES
    ),
    Tool(PROVE, "make", ("make",), "make", "builds kernels", ()),
    Tool(PROVE, "pahole", ("pahole",), "dwarves", "builds kernels with BTF"),
    Tool(PROVE, "ccache", ("ccache",), "ccache", "builds the second variant of a tree much faster"),
    Tool(PROVE, "virtme-ng", ("vng",), "virtme-ng", "machine `virtme-ng`: boots kernels on this root file system"),
    Tool(PROVE, "ssh", ("ssh",), "openssh-client", "machine `ssh`: boots kernels elsewhere", (), "-V"),
    Tool(PROVE, "stress-ng", ("stress-ng",), "stress-ng", "benchmark `stress-ng`"),
)


def program_checks(distribution: Distribution) -> Iterator[Check]:
    """One for each program, and one for our own that parses sources."""
    yield _source_scan(distribution)
    for program in PROGRAMS:
        yield check(program, distribution)


def check(program: Tool, distribution: Distribution) -> Check:
    """Where it is, and which release."""
    name = next((name for name in program.names if shutil.which(name)), None)
    if name is None:
        remedy = distribution.install(program.package)
        return _made(program, Readiness.MISSING, "not installed", remedy)
    done = ended(name, program.option)
    if done is None or done.status < 0:
        remedy = distribution.install(program.package)
        return _made(program, Readiness.MISSING, f"{name} is installed but does not run", remedy)
    return _made(program, Readiness.READY, f"{name} {release_in(done)}".strip(), "")


def _made(program: Tool, readiness: Readiness, said: str, remedy: str) -> Check:
    return Check(program.area, program.title, readiness, said, program.purpose, remedy, program.needed_by)


def _source_scan(distribution: Distribution) -> Check:
    purpose = "finds code that relies on the order of members (`--tree`)"
    try:
        said = source_scan.release(source_scan.program())
    except ToolMissing:
        remedy = f"{distribution.install('libclang-19-dev llvm-19-dev')}, then install linesmith again"
        return Check(CHANGE, "source scan", Readiness.MISSING, "not in this installation", purpose, remedy)
    return Check(CHANGE, "source scan", Readiness.READY, said, purpose)


# Libraries of Python that some commands take and the rest does without.

AREA = "libraries"


@dataclass(frozen=True, slots=True)
class Library:
    """A distribution of Python packages, and the extra of ours that brings it."""

    name: str
    extra: str
    purpose: str
    needed_by: tuple[str, ...] = ()


LIBRARIES = (
    Library("drgn", "snapshot", "names the objects in a kernel's memory", ("snapshot",)),
    Library("scikit-optimize", "search", "optimizer `scikit-optimize` of `tune`; `racing` stands in"),
    Library("distributed", "cluster", "`tune --executor dask`: many machines"),
    Library("resvg-py", "png", "line maps as PNG (`layout -o map.png`); SVG needs nothing"),
)


def library_checks() -> Iterator[Check]:
    """One for each library; none is loaded for it."""
    for library in LIBRARIES:
        try:
            readiness, said, remedy = Readiness.READY, version(library.name), ""
        except PackageNotFoundError:
            readiness, said = Readiness.MISSING, "not installed"
            remedy = install_command(library.extra)
        yield Check(AREA, library.name, readiness, said, library.purpose, remedy, library.needed_by)
