# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that commands call: compilers, what edits and builds, what benchmarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linesmith.analyzer.doctor.distribution import Distribution
from linesmith.analyzer.doctor.running import ended, found, release_in
from linesmith.analyzer.errors import ToolMissing
from linesmith.analyzer.model import Check, Readiness
from linesmith.patches.scan import program as source_scan

CHANGE = "change"
PROVE = "prove"
_RECOMPILED = ("patch", "encapsulate", "inline", "bench", "tune", "demo")


@dataclass(frozen=True, slots=True)
class Program:
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
    Program(CHANGE, "C compiler", ("gcc", "clang", "cc"), "gcc", "confirms patches by compiling them", _RECOMPILED),
    Program(CHANGE, "coccinelle", ("spatch",), "coccinelle", "edits all users of a member", ("encapsulate", "inline")),
    Program(CHANGE, "git", ("git",), "git", "reads revisions, and names who to send patches to"),
    Program(CHANGE, "perl", ("perl",), "perl", "runs the tree's own checkpatch.pl on patches"),
    Program(CHANGE, "clang", ("clang", "clang-19"), "clang", "trees that are configured for clang, and `--matrix`"),
    *(
        Program(CHANGE, f"compiler for {machine}", (f"{tools}-gcc",), f"gcc-{tools}", f"patches under {options}")
        for machine, tools, options in _MACHINES
    ),
    Program(PROVE, "make", ("make",), "make", "builds kernels", ()),
    Program(PROVE, "pahole", ("pahole",), "dwarves", "builds kernels with BTF"),
    Program(PROVE, "ccache", ("ccache",), "ccache", "builds the second variant of a tree much faster"),
    Program(PROVE, "virtme-ng", ("vng",), "virtme-ng", "machine `virtme-ng`: boots kernels on this root file system"),
    Program(PROVE, "ssh", ("ssh",), "openssh-client", "machine `ssh`: boots kernels elsewhere", (), "-V"),
    Program(PROVE, "stress-ng", ("stress-ng",), "stress-ng", "benchmark `stress-ng`"),
)


def checks(distribution: Distribution) -> Iterator[Check]:
    """One for each program, and one for our own that parses sources."""
    yield _source_scan(distribution)
    for program in PROGRAMS:
        yield check(program, distribution)


def check(program: Program, distribution: Distribution) -> Check:
    """Where it is, and which release."""
    name = next((name for name in program.names if found(name)), None)
    if name is None:
        remedy = distribution.install(program.package)
        return _made(program, Readiness.MISSING, "not installed", remedy)
    told = ended(name, program.option)
    if told is None or told.status < 0:
        remedy = distribution.install(program.package)
        return _made(program, Readiness.MISSING, f"{name} is there and does not run", remedy)
    return _made(program, Readiness.READY, f"{name} {release_in(told)}".strip(), "")


def _made(program: Program, readiness: Readiness, said: str, remedy: str) -> Check:
    return Check(program.area, program.title, readiness, said, program.purpose, remedy, program.needed_by)


def _source_scan(distribution: Distribution) -> Check:
    purpose = "finds code that relies on the order of members (`--tree`)"
    try:
        said = source_scan.release(source_scan.program())
    except ToolMissing:
        remedy = f"{distribution.install('libclang-19-dev llvm-19-dev')}, then install linesmith again"
        return Check(CHANGE, "source scan", Readiness.MISSING, "not in this installation", purpose, remedy)
    return Check(CHANGE, "source scan", Readiness.READY, said, purpose)
