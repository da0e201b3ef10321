# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler flags of a kernel tree, from its own build or from one prepared in the user's cache directory."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from linesmith.analyzer.errors import TreeError
from linesmith.analyzer.store import cache_directory
from linesmith.patches.child import Command, Ended, missing, run
from linesmith.patches.farm import plant
from linesmith.patches.flags import Flags, from_cmd_file
from linesmith.patches.kconfig import Configuration, architecture, read_configuration, values
from linesmith.patches.toolchain import Toolchain, toolchain

PREPARE_SECONDS = 1800
_NEEDED = ("make", "flex", "bison", "bc", "gcc")
_PREPARED = ".linesmith-prepared"
_ABOUT_THE_COMPILER = ("CC_VERSION_TEXT", "GCC_", "CLANG_", "AS_", "LD_", "CC_", "RUSTC_", "PAHOLE_", "TOOLS_", "LLD_")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Build:
    """How units of one tree are compiled. ``tree`` is the root that include paths lead to (links perhaps).

    ``made_from`` names what decides the layouts: the configuration or the options. ``commands`` were run on the way.
    """

    flags: Flags
    tree: Path
    is_kernel: bool
    made_from: str
    commands: tuple[Command, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Scratch:
    """A build directory in the cache: ``farm`` is the clean image of the tree, ``output`` what make writes into."""

    root: Path
    tree: Path
    configuration: Configuration
    architecture: str
    tools: Toolchain

    @property
    def farm(self) -> Path:
        return self.root / "tree"

    @property
    def output(self) -> Path:
        return self.root / "build"

    def command(self) -> Command:
        variables = (f"O={self.output}", f"ARCH={self.architecture}", *self.tools.variables)
        jobs = f"-j{min(4, len(os.sched_getaffinity(0)))}"
        argv = ("make", "-C", str(self.farm), jobs, *variables, "olddefconfig", "prepare0")
        return Command(argv, self.root, PREPARE_SECONDS)


def is_kernel(tree: Path) -> bool:
    """Whether ``tree`` is the root of a Linux source tree."""
    return (tree / "Kbuild").is_file() and (tree / "scripts" / "Makefile.build").is_file()


def kernel_build(tree: Path, build: Path | None, progress: Progress) -> Build:
    """The flags of a configured kernel tree; a build directory is prepared in the cache where the tree has none.

    Raises ``TreeError`` without a sound ``.config`` or when make fails, ``ToolMissing`` naming the package.
    """
    made = build or tree
    configuration = _configuration(tree, made)
    arch = architecture(configuration, tree)
    recorded = _recorded(made, arch)
    if recorded is not None:
        flags = from_cmd_file(recorded, made.resolve(), (tree, made))
        return Build(flags, tree.resolve(), True, f"{configuration.path} and its own build")
    return _prepared(_scratch(tree, configuration, arch), progress)


def for_unit(build: Build, unit: str) -> Build:
    """``build`` with the flags that Kbuild recorded for the unit itself, where it was built; Makefiles can add some."""
    path = PurePosixPath(unit)
    record = build.flags.directory / path.parent / f".{path.stem}.o.cmd"
    if not build.is_kernel or not unit.endswith(".c") or not record.is_file():
        return build
    try:
        flags = from_cmd_file(record, build.flags.directory, (build.tree, build.flags.directory))
    except TreeError:
        return build
    return replace(build, flags=flags)


def planned(tree: Path, build: Path | None) -> tuple[Command, ...]:
    """The commands that ``kernel_build`` would run."""
    made = build or tree
    configuration = _configuration(tree, made)
    arch = architecture(configuration, tree)
    scratch = None if _recorded(made, arch) else _scratch(tree, configuration, arch)
    return () if scratch is None or _is_warm(scratch) else (scratch.command(),)


def _configuration(tree: Path, made: Path) -> Configuration:
    if not (made / ".config").exists():
        message = f"{made} has no .config; run make defconfig there, or name the build directory with --build"
        raise TreeError(message)
    if made is not tree and not made.is_dir():
        raise TreeError(f"{made} is no directory; --build takes the O= directory of a kernel build")
    return read_configuration(made / ".config")


def _recorded(made: Path, arch: str) -> Path | None:
    """Kbuild's record of the compiler call for asm-offsets, when it is not older than the configuration."""
    record = made / "arch" / arch / "kernel" / ".asm-offsets.s.cmd"
    offsets = made / "include" / "generated" / "asm-offsets.h"
    settings = made / "include" / "config" / "auto.conf"
    if not (record.is_file() and offsets.is_file() and settings.is_file()):
        return None
    current = settings.stat().st_mtime_ns >= (made / ".config").stat().st_mtime_ns
    return record if current else None


def _scratch(tree: Path, configuration: Configuration, arch: str) -> _Scratch:
    for program in _NEEDED:
        if shutil.which(program) is None:
            raise missing(program)
    tools = toolchain(configuration, arch)
    version = run(Command((tools.compiler, "--version"), Path("/"), 20)).output
    top = (tree / "Makefile").read_bytes()[:512]
    described = "\0".join((str(tree.resolve()), configuration.text, version, " ".join(tools.variables))).encode() + top
    key = hashlib.sha256(described).hexdigest()[:24]
    return _Scratch(cache_directory().resolve() / "trees" / key, tree, configuration, arch, tools)


def _is_warm(scratch: _Scratch) -> bool:
    return (scratch.root / _PREPARED).is_file()


def _prepared(scratch: _Scratch, progress: Progress) -> Build:
    commands: tuple[Command, ...] = ()
    with _locked(scratch.root, progress):
        if not _is_warm(scratch):
            progress(f"preparing a build of {scratch.tree} in {scratch.root} (once for this configuration)")
            commands = (_prepare(scratch).command,)
        plant(scratch.tree, scratch.farm, scratch.architecture)
    record = scratch.output / "arch" / scratch.architecture / "kernel" / ".asm-offsets.s.cmd"
    flags = from_cmd_file(record, scratch.output, (scratch.tree, scratch.root))
    made_from = f"{scratch.configuration.path}, prepared in {scratch.root}"
    return Build(flags, scratch.farm, True, made_from, commands, scratch.tools.remarks + _changed(scratch))


def _prepare(scratch: _Scratch) -> Ended:
    for stale in (scratch.farm, scratch.output):
        if stale.exists():
            shutil.rmtree(stale)
    scratch.output.mkdir(parents=True)
    plant(scratch.tree, scratch.farm, scratch.architecture)
    (scratch.output / ".config").write_text(scratch.configuration.text, encoding="utf-8")
    ended = run(scratch.command())
    (scratch.root / "log").write_text(ended.output, encoding="utf-8")
    if ended.status:
        message = f"make could not prepare {scratch.tree}: {_first_error(ended.output)}; see {scratch.root / 'log'}"
        raise TreeError(message)
    (scratch.root / _PREPARED).touch()
    return ended


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if "error" in line.lower() or "***" in line or "not found" in line]
    return next((line for line in (*telling, *lines[-1:]) if line.strip("* ")), "no output")


def _changed(scratch: _Scratch) -> tuple[str, ...]:
    """What olddefconfig made of the configuration, beyond facts about the compiler."""
    made = values((scratch.output / ".config").read_text(encoding="utf-8", errors="replace"))
    asked = scratch.configuration.values
    changed = sorted(
        name
        for name in {*made, *asked}
        if made.get(name) != asked.get(name) and not name.startswith(_ABOUT_THE_COMPILER)
    )
    if not changed:
        return ()
    listed = ", ".join(changed[:5]) + (", …" if len(changed) > 5 else "")
    return (f"make olddefconfig changed {len(changed)} symbols of {scratch.configuration.path}: {listed}",)


@contextmanager
def _locked(root: Path, progress: Progress) -> Iterator[None]:
    """Holds the directory against a second process until the block ends."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process that prepares {root}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
