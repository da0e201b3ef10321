# SPDX-License-Identifier: GPL-2.0-or-later
"""Build directories in the user's cache, in which Kbuild has generated what compiling a unit takes.

A configuration is a file's text, or a make target that writes one (``defconfig``), with lines put behind it. One
directory is made for each configuration, compiler and tree, and made anew when the makefiles or the Kconfig files of
the tree have changed; the tree itself is only read.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base import durable
from linesmith.analyzer.cache import cache_directory
from linesmith.analyzer.errors import TreeError
from linesmith.patches.build_files import build_stamp
from linesmith.patches.child import Command, compiler_version, missing, run
from linesmith.patches.confinement import Confinement, toolchain_of
from linesmith.patches.farm import plant
from linesmith.patches.kconfig import Configuration, values
from linesmith.patches.source_bytes import source_bytes
from linesmith.patches.toolchain import Toolchain, toolchain
from linesmith.patches.visible_files import visible

PREPARE_SECONDS = 1800
_NEEDED = ("make", "flex", "bison", "bc", "gcc")
_PREPARED = ".linesmith-prepared"
_ABOUT_THE_COMPILER = ("CC_VERSION_TEXT", "GCC_", "CLANG_", "AS_", "LD_", "CC_", "RUSTC_", "PAHOLE_", "TOOLS_", "LLD_")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to configure: ``configuration``, or what ``target`` makes of nothing; then ``fragment``, lines of its own.

    ``folder`` is the directory below ``arch/``, ``machine`` the value of ARCH (``i386`` has the folder ``x86``).
    """

    configuration: Configuration
    folder: str
    machine: str
    target: str = ""
    fragment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preparation:
    """A build directory in the cache: ``farm`` is the clean image of the tree, ``output`` what make writes into.

    ``stamp`` tells the state of the tree's files that decide what make does.
    """

    root: Path
    tree: Path
    wanted: Wanted
    tools: Toolchain
    stamp: str

    @property
    def farm(self) -> Path:
        """The image of the tree that include paths lead to."""
        return self.root / "tree"

    @property
    def output(self) -> Path:
        """The directory in which the compiler is run."""
        return self.root / "build"

    @property
    def is_warm(self) -> bool:
        """Whether make has been through with it, on the tree as it is."""
        done = self.root / _PREPARED
        return done.is_file() and done.read_text(encoding="utf-8") == self.stamp

    @property
    def units(self) -> Path:
        """Where it is kept how make compiles each unit."""
        return self.root / "units.json.zlib"

    @property
    def variables(self) -> tuple[str, ...]:
        """What make is told on its command line beside the directory."""
        return (f"ARCH={self.wanted.machine}", *self.tools.variables)

    @property
    def record(self) -> Path:
        """Kbuild's record of the compiler call for asm-offsets."""
        return self.output / "arch" / self.wanted.folder / "kernel" / ".asm-offsets.s.cmd"

    def command(self) -> Command:
        """What prepares the directory once it is configured."""
        return self._make("olddefconfig", "prepare0")

    def configured(self) -> Configuration:
        """The configuration that make settled on."""
        text = (self.output / ".config").read_text(encoding="utf-8", errors="replace")
        return Configuration(self.output / ".config", text, values(text))

    def _make(self, *targets: str) -> Command:
        jobs = f"-j{min(4, len(os.sched_getaffinity(0)))}"
        argv = ("make", "-C", str(self.farm), jobs, f"O={self.output}", *self.variables, *targets)
        return Command(argv, self.root, PREPARE_SECONDS, self.confinement())

    def confinement(self) -> Confinement:
        """What make may reach: it reads the tree and the toolchain, and writes below ``root``."""
        # Kbuild draws seeds (scripts/gen-randstruct-seed.sh).
        return Confinement(
            (*visible(self.tree), *toolchain_of(self.tools.compiler), Path("/dev/urandom")), (self.root,)
        )

    def prepare(self) -> Command:
        """Make everything anew; returns the last command. Raises ``TreeError`` with make's first complaint."""
        for kept in (self.root / _PREPARED, self.units):
            kept.unlink(missing_ok=True)
        for stale in (self.farm, self.output):
            if stale.exists():
                shutil.rmtree(stale)
        self.output.mkdir(parents=True)
        self.plant()
        (self.root / "log").unlink(missing_ok=True)
        settings = self.output / ".config"
        if self.wanted.target:
            self._run(self._make(self.wanted.target))
        else:
            settings.write_text(self.wanted.configuration.for_make, encoding="utf-8")
        if self.wanted.fragment:
            with settings.open("a", encoding="utf-8") as file:
                file.write("\n".join(("", *self.wanted.fragment, "")))
        command = self.command()
        self._run(command)
        durable.replace(self.root / _PREPARED, self.stamp.encode())
        return command

    def plant(self) -> None:
        """Bring the image up to date with the tree."""
        plant(self.tree, self.farm, self.wanted.folder)

    def _run(self, command: Command) -> None:
        ended = run(command)
        with (self.root / "log").open("a", encoding="utf-8") as log:
            log.write(ended.output)
        if ended.status:
            message = f"make could not prepare {self.tree}: {_first_error(ended.output)}; see {self.root / 'log'}"
            raise TreeError(message)


def preparation(tree: Path, wanted: Wanted) -> Preparation:
    """Where ``wanted`` is prepared, warm or not; raises ``CacheError``, and ``ToolMissing`` naming the package."""
    for program in _NEEDED:
        if shutil.which(program) is None:
            raise missing(program)
    tools = toolchain(wanted.configuration, wanted.folder, wanted.machine)
    version = compiler_version(tools.compiler)
    top = (source_bytes(tree, "Makefile") or b"")[:512]
    asked = (wanted.configuration.for_make, wanted.machine, wanted.target, *wanted.fragment)
    described = "\0".join((str(tree.resolve()), *asked, version, " ".join(tools.variables))).encode() + top
    key = hashlib.sha256(described).hexdigest()[:24]
    return Preparation(cache_directory("trees").resolve() / key, tree, wanted, tools, build_stamp(tree))


def prepared(one: Preparation, progress: Progress) -> tuple[Command, ...]:
    """See to it that the directory is ready; returns the commands that were run for it. Raises ``TreeError``."""
    commands: tuple[Command, ...] = ()
    with locked(one.root, progress):
        if not one.is_warm:
            progress(f"preparing a build of {one.tree} in {one.root} (once for this configuration)")
            commands = (one.prepare(),)
        one.plant()
    return commands


def changed_symbols(one: Preparation) -> tuple[str, ...]:
    """The symbols that make set otherwise than given, sorted; without strings and facts about the compiler."""
    made, asked = one.configured().values, one.wanted.configuration.values
    strings = one.wanted.configuration.strings | one.configured().strings
    return tuple(
        sorted(
            name
            for name in {*made, *asked} - strings
            if made.get(name) != asked.get(name) and not name.startswith(_ABOUT_THE_COMPILER)
        )
    )


def _first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if "error" in line.lower() or "***" in line or "not found" in line]
    return next((line for line in (*telling, *lines[-1:]) if line.strip("* ")), "no output")


@contextmanager
def locked(root: Path, progress: Progress) -> Iterator[None]:
    """Holds the directory against a second process or thread until the block ends."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process that prepares {root}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
