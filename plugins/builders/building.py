# SPDX-License-Identifier: GPL-2.0-or-later
"""What every builder does around its own commands: know the sources, take turns, copy, patch, and keep the products.

A command runs into a log, within a time, and with nothing left behind, however we end. The log of a build that failed
is searched for what ended it, in the words of its first complaint.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.base import files
from linesmith.analyzer.base.child import run_guarded
from linesmith.analyzer.base.errors import (
    BuildFailed,
    CompilerKilled,
    DiskFull,
    LinesmithError,
    OutputError,
    ToolMissing,
)
from linesmith.analyzer.base.keeper import KeeperOrder
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.api import Tell
from linesmith.plugins.builders.artifacts import Artifacts, BuildSlot, occupied
from linesmith.plugins.builders.sources import Census, take
from linesmith.plugins.builders.working_copy import bring, patched

# Changes when builds of the same input would come out differently than before.
_FORMAT = "1"
_KEPT = ("HOME", "TMPDIR", "LD_LIBRARY_PATH", "USER")
_MOST = 64 << 20
_LONGEST = 300
# What a shell ends with that has not found a program.
_NOT_FOUND = 127
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
_KILLED = re.compile(
    r"(Killed|Terminated|Segmentation fault|Bus error|Aborted) signal terminated program (?P<gcc>\S+)"
    r"|collect2: fatal error: (?P<ld>\S+) terminated with signal \d+"
    r"|(?P<clang>\S+): error: unable to execute command: (Killed|Terminated|Segmentation fault)"
    r"|^.*(out of memory allocating|virtual memory exhausted|Cannot allocate memory).*$"
    r"|^(?P<make>g?make(\[\d+\])?: \*\*\* .*(Killed|Segmentation fault|Error 137|Error 139).*)$",
    re.MULTILINE,
)
_MISSING = re.compile(
    r"^(?:/bin/)?(?:ba|da)?sh: (?:line )?(?:\d+: )?(?P<sh>[\w.+-]+): (?:command )?not found"
    r"|make(?:\[\d+\])?: (?P<make>[\w.+-]+): No such file or directory"
    r"|^env: \W(?P<env>[\w.+-]+)\W: No such file",
    re.MULTILINE,
)
# The first that is found anywhere in the log: a compiler's word before a linker's, before make's.
_COMPLAINTS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^[^\s:][^:\n]*:\d+(?::\d+)?: (?:fatal )?error: .*$",
        r"^[^\s:][^:\n]*:\d+: Error: .*$",
        r"^.*: undefined reference to .*$|^ld(?:\.\w+)?: (?:error: )?.*$|^\S+: fatal error: .*$",
        r"^CMake Error.*(?:\n+ .*)?$",
        r"^(?:configure: )?error: .*$",
        r"^\S*make(?:\[\d+\])?: \*\*\* .*$",
        r"^\*\*\* .*$",
    )
)
_PACKAGES = {
    "ninja": "ninja-build",
    "autoreconf": "autoconf",
    "libtoolize": "libtool",
    "aclocal": "automake",
    "ld.lld": "lld",
    "llvm-ar": "llvm",
    "llvm-objcopy": "llvm",
    "pahole": "dwarves",
    "xz": "xz-utils",
    "cc": "gcc",
    "c++": "g++",
}


@dataclass(frozen=True, slots=True)
class BuildCommand:
    """What to run, where, and the variables it gets on top of the usual ones; ``programs`` goes before ``PATH``."""

    argv: tuple[str, ...]
    directory: Path
    variables: tuple[tuple[str, str], ...] = ()
    programs: Path | None = None

    def __str__(self) -> str:
        path = [f'PATH={shlex.quote(str(self.programs))}:"$PATH"'] if self.programs else []
        words = [shlex.quote(f"{name}={value}") for name, value in self.variables]
        before = ["env", *path, *words] if path or words else []
        return f"cd {shlex.quote(str(self.directory))} && {' '.join((*before, shlex.join(self.argv)))}"

    def environment(self) -> dict[str, str]:
        """Its variables: none that steer make or a compiler by accident, all of ccache's."""
        variables = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("CCACHE_")}
        path = os.environ.get("PATH", os.defpath)
        return variables | {
            "LC_ALL": "C",
            "PATH": f"{self.programs}:{path}" if self.programs else path,
            **dict(self.variables),
        }


def run(command: BuildCommand, log: Path, deadline: float, lock: int) -> int:
    """The status of the command, negative for a signal; what it says is added to ``log``.

    Its processes get the descriptor ``lock``, which thus lasts as long as any of them. Raises ``BuildFailed``
    when it has not ended at ``deadline`` (of ``time.monotonic``), ``ToolMissing`` when it cannot be started.
    """
    clean = ("env", "-i", *(f"{name}={value}" for name, value in command.environment().items()))
    with log.open("ab") as file:
        file.write(f"$ {command}\n".encode())
        file.flush()
        order = KeeperOrder(
            (*clean, *command.argv),
            str(command.directory),
            dict(os.environ),
            file.fileno(),
            file.fileno(),
            seconds=max(deadline - time.monotonic(), 0.0),
            descriptors=(lock,),
        )
        try:
            ended = run_guarded(order, str(log))
        except OSError as error:
            raise ToolMissing(f"{command.argv[0]} cannot be run ({error.strerror}); reinstall it") from error
    if ended is None:
        return -signal.SIGKILL
    if ended.late:
        raise BuildFailed(f"the build did not finish in time and was stopped; raise its time limit; see {log}")
    return ended.status


def failure(log: Path, status: int) -> LinesmithError:
    """The error for a command that ended with ``status`` (negative for a signal) after it wrote the log."""
    with log.open("rb") as file:
        text = file.read(_MOST).decode("utf-8", "replace")
    if _NO_SPACE.search(text):
        return DiskFull(f"the build found no space left on a disk; free some and resume; see {log}")
    missing = _MISSING.search(text)
    if missing and (status == _NOT_FOUND or not (_KILLED.search(text) or _COMPLAINTS[0].search(text))):
        program = missing["sh"] or missing["make"] or missing["env"]
        return ToolMissing(f"{program} is not installed; install the package {package(program)}; see {log}")
    if status < 0 or status in (128 + signal.SIGKILL, 128 + signal.SIGSEGV):
        number = -status if status < 0 else status - 128
        name = signal.strsignal(number) or f"signal {number}"
        return CompilerKilled(f"the build was killed by {name}; is there memory enough? See {log}")
    if killed := _KILLED.search(text):
        return CompilerKilled(f"a program of the build was killed: {_line(killed[0])}; use fewer jobs; see {log}")
    return BuildFailed(f"{complaint(text)}; see {log}")


def complaint(text: str) -> str:
    """The first complaint of a build's output, one line; its last line where nothing looks like one."""
    for pattern in _COMPLAINTS:
        if found := pattern.search(text):
            return _line(found[0])
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("$ ")]
    return _line(lines[-1]) if lines else "the build failed without a word"


def package(program: str) -> str:
    """Debian's package of a program."""
    return _PACKAGES.get(program, program)


def _line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """What a builder makes of a recipe before it touches anything.

    ``compiler`` is the compiler's first line, ``inputs`` all else that a build depends on besides recipe, sources and
    patches. ``slot`` names the place in the warm folder, which is emptied when its ``purpose`` changes. ``appended``
    has what the salt adds to files of the copy.
    """

    compiler: str
    inputs: tuple[str, ...]
    slot: str
    purpose: str
    appended: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """What a builder's commands left in the slot: products by name, and the configuration's file, if there is one."""

    products: Mapping[str, Path]
    configuration: Path | None = None


@dataclass(frozen=True, slots=True)
class BuildJob:
    """One build in its slot; ``deadline`` is a time of ``time.monotonic``, ``commands`` gathers what was run."""

    recipe: Recipe
    variant: Variant
    sources: Census
    slot: BuildSlot
    log: Path
    deadline: float
    tell: Tell
    commands: list[str] = field(default_factory=list)

    def run(self, command: BuildCommand) -> None:
        """Run it to its end; raises ``BuildFailed``, ``CompilerKilled``, ``DiskFull`` or ``ToolMissing``."""
        self.commands.append(str(command))
        if status := run(command, self.log, self.deadline, self.slot.lock):
            raise failure(self.log, status)
        self.slot.trust()


Make = Callable[[BuildJob], Made]


def build(recipe: Recipe, variant: Variant, place: Workplace, tell: Tell, plan: BuildPlan, make: Make) -> Built:
    """The artifact of this input, made by ``make`` unless it is there. Raises what ``Builder.build`` does."""
    with _writing(f"{place.warm} and {place.artifacts}"):
        place = Workplace(place.warm.resolve(), place.artifacts.resolve())
        place.artifacts.mkdir(parents=True, exist_ok=True)
        tree = recipe.tree.resolve()
        # The run directory itself may lie in the tree.
        ours = {place.warm, place.artifacts, place.artifacts.parent} - {tree}
        sources = take(tree, place.artifacts / ".trees" / digest((str(tree),)), ours)
        key = key_of(recipe, variant, sources, plan)
        store = Artifacts(place.artifacts)
        if found := store.find(key, sources.digest()):
            return found
        with store.turn(key) as draft:
            if found := store.find(key, sources.digest()):
                return found
            changed = patched(sources, variant.patches, plan.appended)
            with occupied(place.warm / plan.slot, plan.purpose) as slot:
                started = time.monotonic()
                written = bring(slot.copy, sources, changed)
                tell(f"building {variant.name}: {written} source files differ from the last build")
                job = BuildJob(recipe, variant, sources, slot, store.log(key), started + recipe.seconds, tell)
                made = make(job)
                built = _built(job, key, plan, made, started, store)
                return store.commit(draft, built, made.products, made.configuration)


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn what the system says about our files into ``DiskFull`` or ``OutputError``."""
    try:
        yield
    except OSError as error:
        place = error.filename or what
        if error.errno in files.FULL:
            raise DiskFull(f"no space left for {place}; free some and resume") from error
        raise OutputError(f"{place} cannot be written ({error.strerror}); choose another folder") from error


def _built(job: BuildJob, key: str, plan: BuildPlan, made: Made, started: float, store: Artifacts) -> Built:
    content = made.configuration.read_bytes() if made.configuration else b""
    return Built(
        key=key,
        directory=store.folder / key,
        products=(),
        compiler=plan.compiler,
        configuration=hashlib.blake2b(content, digest_size=16).hexdigest() if content else "",
        commands=tuple(job.commands),
        seconds=time.monotonic() - started,
        sources=job.sources.digest(),
    )


def key_of(recipe: Recipe, variant: Variant, sources: Census, plan: BuildPlan) -> str:
    """The digest of all that the products depend on; jobs and time limit are not of that kind."""
    configuration = recipe.configuration.read_text("utf-8", "surrogateescape") if recipe.configuration else ""
    recipe_words = (recipe.builder, recipe.base, recipe.command, recipe.compiler, digest(recipe.products))
    made_of = (sources.digest(), digest(variant.patches), str(variant.salt))
    return digest((_FORMAT, *recipe_words, plan.compiler, configuration, digest(plan.inputs), *made_of))


def digest(parts: Iterable[str]) -> str:
    """One digest of several texts; where one ends and the next begins counts."""
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogateescape")
        total.update(len(encoded).to_bytes(8, "little"))
        total.update(encoded)
    return total.hexdigest()
