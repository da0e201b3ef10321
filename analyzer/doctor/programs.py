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
from linesmith.analyzer.layouts.dwarf import core_versions
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

_UBUNTU = {"linux-perf": "linux-tools-generic linux-tools-$(uname -r)"}


def distribution() -> tuple[str, ...]:
    """The words of this machine's distribution for itself, the narrowest first. See os-release(5)."""
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        return ()
    return facts.get("ID", ""), *facts.get("ID_LIKE", "").split()


def install(package: str) -> str:
    """The command that installs what Debian calls ``package``, where that is known."""
    words = distribution()
    if not {"debian", "ubuntu"} & set(words):
        return f"install the package that Debian calls {package}"
    return as_root(f"apt-get install {_UBUNTU.get(package, package) if 'ubuntu' in words else package}")


def as_root(command: str) -> str:
    """A command that only root may run."""
    return command if os.geteuid() == 0 else f"sudo {command}"


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


def program_checks() -> Iterator[Check]:
    """One for each program, and one for our own that parses sources."""
    yield _source_scan()
    yield from map(check, PROGRAMS)


def check(program: Tool) -> Check:
    """Where it is, and which release."""
    name = next((name for name in program.names if shutil.which(name)), None)
    if name is None:
        return _made(program, Readiness.MISSING, "not installed", install(program.package))
    done = ended(name, program.option)
    if done is None or done.status < 0:
        return _made(program, Readiness.MISSING, f"{name} is installed but does not run", install(program.package))
    return _made(program, Readiness.READY, f"{name} {release_in(done)}".strip(), "")


def _made(program: Tool, readiness: Readiness, said: str, remedy: str) -> Check:
    return Check(program.area, program.title, readiness, said, program.purpose, remedy, program.needed_by)


def _source_scan() -> Check:
    purpose = "finds code that relies on the order of members (`--tree`)"
    try:
        said = source_scan.release(source_scan.program())
    except ToolMissing:
        remedy = f"{install('libclang-19-dev llvm-19-dev')}, then install linesmith again"
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
)


def library_checks() -> Iterator[Check]:
    """One for the native core and what it was built with, and one for each library, none of which is loaded for it."""
    compiler, libdw, capstone = core_versions()
    said = f"built with {compiler}, libdw {libdw}, capstone {capstone}"
    yield Check(AREA, "native core", Readiness.READY, said, "reads layouts and code from ELF files")
    for library in LIBRARIES:
        try:
            readiness, said, remedy = Readiness.READY, version(library.name), ""
        except PackageNotFoundError:
            readiness, said = Readiness.MISSING, "not installed"
            remedy = install_command(library.extra)
        yield Check(AREA, library.name, readiness, said, library.purpose, remedy, library.needed_by)
