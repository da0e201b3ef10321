# SPDX-License-Identifier: GPL-2.0-or-later
"""Build directories in the user's cache, in which Kbuild has generated what compiling a unit takes.

A configuration is a file's text, or a make target that writes one (``defconfig``), with lines put behind it. One
directory is made for each configuration, compiler and tree, and made anew when the makefiles or the Kconfig files of
the tree have changed; the tree itself is only read.

Kbuild builds elsewhere (``O=``) only from a clean tree; a tree with a ``.config`` is none. So it builds from a clean
image of the tree made of symbolic links. How Kbuild would compile each unit ``make -n`` says in seconds; ``-o prepare``
keeps it from asking for tools and libraries that only a whole build needs.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from linesmith.analyzer.base import files
from linesmith.analyzer.base.child import Command, Streams, missing, run, started
from linesmith.analyzer.base.errors import TreeError
from linesmith.analyzer.base.files import cache_directory
from linesmith.patches.build.confinement import Confinement, compiler_version, toolchain_of
from linesmith.patches.build.kconfig import KernelConfiguration, Toolchain, build_stamp, toolchain, values
from linesmith.patches.build.options import Flags, from_words
from linesmith.patches.source.tree import source_bytes, visible_files

_MADE_ANEW = ("", "arch", "include", "kernel", "scripts")
_DEEP = ("scripts", "kernel")
_GENERATED = ("include/config", "include/generated", ".config", ".config.old", ".git", "source", "build")
_DEEPEST = 12


def link_sources(tree: Path, image: Path, architecture: str) -> None:
    """Make ``image`` the clean image of ``tree``; links whose target is gone are removed. Raises ``OSError``."""
    own = f"arch/{architecture}"
    anew = {*_MADE_ANEW, own, f"{own}/include", f"{own}/kernel", f"{own}/tools"}
    within = tuple(f"{one}/" for one in (*_DEEP, f"{own}/kernel", f"{own}/tools"))
    left_out = {*_GENERATED, f"{own}/include/generated"}
    _link_folder(tree.resolve(), image, "", anew=anew, within=within, left_out=left_out)


def _link_folder(
    tree: Path, image: Path, folder: str, *, anew: set[str], within: tuple[str, ...], left_out: set[str]
) -> None:
    target = image / folder
    target.mkdir(parents=True, exist_ok=True)
    for link in target.iterdir():
        if link.is_symlink() and not os.path.lexists(tree / folder / link.name):
            link.unlink()
    with os.scandir(tree / folder) as found:
        entries = {entry.name: entry for entry in found}
    for name, entry in entries.items():
        place = f"{folder}/{name}".lstrip("/")
        # Kbuild leaves a ``.NAME.cmd`` next to whatever it made.
        if place in left_out or name.endswith(".cmd") or f".{name}.cmd" in entries:
            continue
        # Folders named here are entered through links too; below them a link could lead into a loop.
        enter = place in anew or (place.startswith(within) and place.count("/") < _DEEPEST)
        if enter and entry.is_dir(follow_symlinks=place in anew):
            _link_folder(tree, image, place, anew=anew, within=within, left_out=left_out)
        elif not os.path.lexists(target / name):
            (target / name).symlink_to(tree / place)


PREPARE_SECONDS = 1800
_NEEDED = ("make", "flex", "bison", "bc", "gcc")
_PREPARED = ".linesmith-prepared"
_ABOUT_THE_COMPILER = ("CC_VERSION_TEXT", "GCC_", "CLANG_", "AS_", "LD_", "CC_", "RUSTC_", "PAHOLE_", "TOOLS_", "LLD_")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PreparationRequest:
    """What to configure: ``configuration``, or what ``target`` makes of nothing; then ``fragment``, lines of its own.

    ``folder`` is the directory below ``arch/``, ``machine`` the value of ARCH (``i386`` has the folder ``x86``).
    """

    configuration: KernelConfiguration
    folder: str
    machine: str
    target: str = ""
    fragment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preparation:
    """A build directory in the cache: ``image`` is the clean image of the tree, ``output`` what make writes into.

    ``stamp`` tells the state of the tree's files that decide what make does.
    """

    root: Path
    tree: Path
    request: PreparationRequest
    tools: Toolchain
    stamp: str

    @property
    def image(self) -> Path:
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
        """What make is given on its command line besides the directory."""
        return (f"ARCH={self.request.machine}", *self.tools.variables)

    @property
    def record(self) -> Path:
        """Kbuild's record of the compiler call for asm-offsets."""
        return self.output / "arch" / self.request.folder / "kernel" / ".asm-offsets.s.cmd"

    def command(self) -> Command:
        """What prepares the directory once it is configured."""
        return self._make("olddefconfig", "prepare0")

    def configured(self) -> KernelConfiguration:
        """The configuration that make settled on."""
        text = (self.output / ".config").read_text(encoding="utf-8", errors="replace")
        return KernelConfiguration(self.output / ".config", text, values(text))

    def prepared(self, progress: Progress) -> tuple[Command, ...]:
        """See to it that the directory is ready; returns the commands that were run for it. Raises ``TreeError``."""
        commands: tuple[Command, ...] = ()
        with locked(self.root, progress):
            if not self.is_warm:
                progress(f"preparing a build of {self.tree} in {self.root} (once for this configuration)")
                commands = (self.prepare(),)
            self.refresh_image()
        return commands

    def changed_symbols(self) -> tuple[str, ...]:
        """The symbols that make set otherwise than given, sorted; without strings and facts about the compiler."""
        made, asked = self.configured().values, self.request.configuration.values
        strings = self.request.configuration.strings | self.configured().strings
        differing = (name for name in {*made, *asked} - strings if made.get(name) != asked.get(name))
        return tuple(sorted(name for name in differing if not name.startswith(_ABOUT_THE_COMPILER)))

    def unit_commands(self, progress: Progress) -> UnitCommands:
        """Every unit that make would compile, those of modules included; raises ``TreeError`` when it names none."""
        if not self.units.is_file():
            with locked(self.root, progress):
                if not self.units.is_file():  # who waited for it need not ask again
                    progress(f"asking make how it compiles the units of {self.tree}")
                    said = self.root / "dry-run"
                    self._dry_run(said)
                    found = dict(self._units(said))
                    if not found:
                        raise TreeError(f"make lists no unit to compile for {self.tree}; see {said}")
                    said.unlink()
                    files.replace_file(self.units, zlib.compress(msgspec.json.encode(found), _FAST))
        commands = msgspec.json.decode(zlib.decompress(self.units.read_bytes()), type=dict[str, str])
        return UnitCommands(commands, self.output, (self.tree, self.root))

    def _make(self, *targets: str) -> Command:
        jobs = f"-j{min(4, len(os.sched_getaffinity(0)))}"
        argv = ("make", "-C", str(self.image), jobs, f"O={self.output}", *self.variables, *targets)
        return Command(argv, self.root, PREPARE_SECONDS, self.confinement())

    def confinement(self) -> Confinement:
        """What make may reach: it reads the tree and the toolchain, and writes below ``root``."""
        # Kbuild draws seeds (scripts/gen-randstruct-seed.sh).
        return Confinement(
            (*visible_files(self.tree), *toolchain_of(self.tools.compiler), Path("/dev/urandom")), (self.root,)
        )

    def prepare(self) -> Command:
        """Make everything anew; returns the last command. Raises ``TreeError`` with make's first complaint."""
        for note in (self.root / _PREPARED, self.units):
            note.unlink(missing_ok=True)
        for stale in (self.image, self.output):
            if stale.exists():
                shutil.rmtree(stale)
        self.output.mkdir(parents=True)
        self.refresh_image()
        (self.root / "log").unlink(missing_ok=True)
        settings = self.output / ".config"
        if self.request.target:
            self._run(self._make(self.request.target))
        else:
            settings.write_text(self.request.configuration.for_make, encoding="utf-8")
        if self.request.fragment:
            with settings.open("a", encoding="utf-8") as file:
                file.write("\n".join(("", *self.request.fragment, "")))
        command = self.command()
        self._run(command)
        files.replace_file(self.root / _PREPARED, self.stamp.encode())
        return command

    def refresh_image(self) -> None:
        """Bring the image up to date with the tree."""
        link_sources(self.tree, self.image, self.request.folder)

    def _run(self, command: Command) -> None:
        ended = run(command)
        with (self.root / "log").open("a", encoding="utf-8") as log:
            log.write(ended.output)
        if ended.status:
            lines = [line.strip() for line in ended.output.splitlines()]
            errors = [line for line in lines if "error" in line.lower() or "***" in line or "not found" in line]
            error = next((line for line in (*errors, *lines[-1:]) if line.strip("* ")), "no output")
            raise TreeError(f"make could not prepare {self.tree}: {error}; see {self.root / 'log'}")

    def _dry_run(self, said: Path) -> None:
        """Write what ``make -n`` prints. Its status says nothing: a dry run misses what it did not make."""
        argv = ("make", "-n", "-k", "--no-print-directory", "-C", str(self.output), "-f", str(self.image / "Makefile"))
        whole = (*argv, "-o", "prepare", *self.variables, "V=1")
        with said.open("wb") as output:
            streams = Streams(subprocess.DEVNULL, output, subprocess.STDOUT)
            with started(Command(whole, self.output, DRY_SECONDS, self.confinement()), streams) as process:
                try:
                    process.wait(DRY_SECONDS)
                except subprocess.TimeoutExpired:
                    raise TreeError(f"make -n did not end within {DRY_SECONDS} s in {self.output}") from None

    def _units(self, said: Path) -> Iterator[tuple[str, str]]:
        """Pairs of unit and compiler call."""
        begin = f"; {self.tools.compiler} ".encode()
        image = f"{self.image}/"
        with said.open("rb") as lines:
            for line in lines:
                end = line.rfind(_BEHIND)
                start = line.rfind(begin, 0, end) if end > 0 else -1
                call, _, ends = line[start + 2 : end].partition(_OUTPUT) if start >= 0 else (b"", b"", b"")
                command = (call + _OUTPUT + ends.partition(b";")[0]).decode("utf-8", "surrogateescape").strip()
                source = command.rpartition(" ")[2]
                if source.startswith(image) and source.endswith(".c") and "-D__KERNEL__" in command:
                    yield os.path.normpath(source.removeprefix(image)), command


def preparation(tree: Path, request: PreparationRequest) -> Preparation:
    """Where ``request`` is prepared, warm or not; raises ``CacheError``, and ``ToolMissing`` naming the package."""
    for program in _NEEDED:
        if shutil.which(program) is None:
            raise missing(program)
    tools = toolchain(request.configuration, request.folder, request.machine)
    version = compiler_version(tools.compiler)
    top = (source_bytes(tree, "Makefile") or b"")[:512]
    asked = (request.configuration.for_make, request.machine, request.target, *request.fragment)
    described = "\0".join((str(tree.resolve()), *asked, version, " ".join(tools.variables))).encode() + top
    key = hashlib.sha256(described).hexdigest()[:24]
    return Preparation(cache_directory("trees").resolve() / key, tree, request, tools, build_stamp(tree))


@contextmanager
def locked(root: Path, progress: Progress) -> Iterator[None]:
    """Holds the directory against a second process or thread until the block ends."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / "lock").open("w") as lock:
        wait_for_lock(lock, f"prepares {root}", progress)
        yield


def wait_for_lock(file: IO[str] | IO[bytes], work: str, progress: Progress) -> None:
    """Lock an open file; where another process has it, ``progress`` gets a line that says what ``work`` that does."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress(f"waiting for another process that {work}")
        fcntl.flock(file, fcntl.LOCK_EX)


DRY_SECONDS = 600
# Commands are long and alike.
_FAST = 1
# What Kbuild runs behind the compiler (scripts/Kbuild.include, cmd_and_fixdep).
_BEHIND = b"; scripts/basic/fixdep "
# The object and the source end the call; objtool may come behind them (scripts/Makefile.build, cmd_cc_o_c).
_OUTPUT = b" -c -o "


@dataclass(frozen=True, slots=True)
class UnitCommands:
    """The compiler calls of a build by unit, relative to the tree; ``directory`` is where they are made."""

    commands: Mapping[str, str]
    directory: Path
    outside: tuple[Path, ...]

    def flags(self, unit: str) -> Flags | None:
        """The flags of one unit, ``None`` where the build has no such unit; raises ``TreeError`` for no compiler."""
        command = self.commands.get(unit)
        if command is None:
            return None
        return from_words(shlex.split(command), self.directory / "Makefile", self.directory, self.outside)
