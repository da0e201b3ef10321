# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that parses units: where it is installed, what it is asked, what it says, and children that run it.

It answers with a JSON line for each unit. Children parse side by side, each one unit at a time, so that one that dies
costs its unit only.
"""

from __future__ import annotations

import hashlib
import os
import re
import selectors
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import IO

import msgspec

from linesmith.analyzer.base.child import Command, Streams, run, started
from linesmith.analyzer.base.errors import CommandTimedOut, ScanFailed, ToolMissing, TreeError
from linesmith.analyzer.model import DependencyKind, UseKind
from linesmith.patches.build.confinement import Confinement
from linesmith.patches.build.options import from_words
from linesmith.patches.scan.units import Unit

_PLACE = "plugins/bin/linesmith-source-scan"
_ELSEWHERE = "LINESMITH_SOURCE_SCAN"
_OWN_HEADERS = (
    "usr/lib/llvm-*/lib/clang/*/include/stddef.h",
    "usr/lib*/clang/*/include/stddef.h",
    "usr/lib*/gcc/*/*/include/stddef.h",
)
_SECONDS = 10
# Kbuild records what is run on the object behind the compiler.
_FURTHER = (" ; ", " && ")


def program() -> Path:
    """The program of this installation, or the one that the environment names; raises ``ToolMissing``."""
    named = os.environ.get(_ELSEWHERE)
    path = Path(named) if named else Path(str(distribution("linesmith").locate_file(f"linesmith/{_PLACE}")))
    if not os.access(path, os.X_OK):
        raise ToolMissing(
            f"the program that parses sources is not part of this installation ({path}); install libclang-19-dev and "
            "llvm-19-dev (or those of a later release), then install linesmith again"
        )
    return path


def release(path: Path) -> str:
    """What the program says of itself, such as ``LLVM 19.1.7``; raises ``ToolMissing`` where it does not run."""
    try:
        done = run(Command((str(path.absolute()), "--version"), Path("/"), _SECONDS, variables=os.environ))
    except (ToolMissing, CommandTimedOut) as error:
        reason = error.__cause__ or error
        raise ToolMissing(f"{path} does not run ({reason}); install linesmith again") from error
    if done.status:
        raise ToolMissing(f"{path} does not run (status {done.status}); install linesmith again")
    said = re.search(r"LLVM version \S+", done.output)
    return said[0].replace("version ", "") if said else "of an unknown release of LLVM"


def stamp(path: Path) -> str:
    """What changes when the program does."""
    return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()


def question(unit: Unit, outside: tuple[Path, ...]) -> bytes:
    """The line that asks for a unit, its command reduced to what decides how it is read.

    Raises ``TreeError`` where the command is no lone call of a C compiler from outside of the trees ``outside``.
    """
    words: Sequence[str] = unit.command
    if isinstance(unit.command, str):
        command = unit.command
        for mark in _FURTHER:
            command = command.partition(mark)[0]
        try:
            words = shlex.split(command.replace("$(pound)", "#").replace("$$", "$"))
        except ValueError as error:
            raise TreeError(f"{unit.origin}: the recorded command cannot be read ({error})") from error
    flags = from_words(words, unit.origin, unit.directory, outside)
    own = () if "-nostdinc" in flags.options else own_headers()
    asked = {
        "directory": str(unit.directory),
        "file": unit.file,
        "arguments": (flags.compiler, *flags.options, *own, unit.file),
    }
    try:
        return msgspec.json.encode(asked) + b"\n"
    except UnicodeEncodeError as error:
        raise TreeError(f"{unit.origin}: the recorded command is not valid UTF-8") from error


@cache
def own_headers() -> tuple[str, ...]:
    """Options that find the headers a compiler brings along (stddef.h): Clang's of the latest release, else GCC's."""
    for pattern in _OWN_HEADERS:
        found = sorted(Path("/").glob(pattern), key=lambda path: list(map(int, re.findall(r"\d+", str(path.parent)))))
        if found:
            return ("-isystem", str(found[-1].parent))
    return ()


class MemberPart(msgspec.Struct, frozen=True):
    """A member, its atom's bytes from ``start`` to ``end``; ``file`` is empty where it is the record's."""

    name: str
    line: int
    start: int
    end: int
    file: str = ""
    macro: str = ""
    others: tuple[str, ...] = ()


class RecordPart(msgspec.Struct, frozen=True):
    """A declaration of a record, bytes ``start`` to ``end`` of ``file``."""

    record: str
    file: str
    line: int
    start: int
    end: int
    members: tuple[MemberPart, ...] = ()


class DependencyPart(msgspec.Struct, frozen=True):
    """A place that relies on the order; without ``binds`` the compiler works it out again for another order."""

    kind: DependencyKind
    record: str
    members: tuple[str, ...]
    file: str
    line: int
    text: str = ""
    function: str = ""
    bytes: int | None = None
    relation: str = ""
    binds: bool = True


class UsePart(msgspec.Struct, frozen=True):
    """An expression that reaches a member."""

    record: str
    member: str
    kind: UseKind
    file: str
    line: int
    function: str = ""


class UnitAnswer(msgspec.Struct, frozen=True):
    """All of one unit, its parts as they were written.

    ``complaint`` is the first error, ``fatal`` tells that the parser gave up; ``includes`` are all files that were
    read, empty where the program printed nothing.
    """

    unit: str
    complaint: str = ""
    fatal: bool = False
    records: tuple[msgspec.Raw, ...] = ()
    dependencies: tuple[msgspec.Raw, ...] = ()
    uses: tuple[msgspec.Raw, ...] = ()
    includes: tuple[str, ...] = ()


class _RecordName(msgspec.Struct, frozen=True):
    record: str


_ANSWER = msgspec.json.Decoder(UnitAnswer)
_NAMED = msgspec.json.Decoder(_RecordName)


def answer(line: bytes) -> UnitAnswer:
    """The answer in a line; raises ``ScanFailed`` for what is none."""
    try:
        return _ANSWER.decode(line)
    except msgspec.MsgspecError as error:
        raise ScanFailed(f"the program that parses sources gave an invalid answer ({error})") from error


def record_of(part: bytes) -> str:
    """The record that a part is of; raises ``msgspec.MsgspecError`` for what is none."""
    return _NAMED.decode(part).record


UNIT_SECONDS = 120
_MOST_BYTES = 256 << 20

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Parser:
    """The program with its options; compilers that are recorded lie outside of the trees ``outside``.

    ``readable`` are the places that it may read besides the system's.
    """

    argv: tuple[str, ...]
    outside: tuple[Path, ...]
    readable: tuple[Path, ...]


@dataclass(slots=True)
class _Child:
    """A running program, the unit that it parses, and what it has reported of it so far."""

    process: subprocess.Popen[bytes]
    closing: ExitStack
    unit: Unit | None = None
    deadline: float = 0.0
    said: bytearray = field(default_factory=bytearray)

    @property
    def output(self) -> IO[bytes]:
        if self.process.stdout is None:
            raise ScanFailed("the program that parses sources has no output")
        return self.process.stdout

    @property
    def input(self) -> IO[bytes]:
        if self.process.stdin is None:
            raise ScanFailed("the program that parses sources has no input")
        return self.process.stdin


def parsed(program: Parser, units: Sequence[Unit], progress: Progress) -> Iterator[tuple[Unit, UnitAnswer]]:
    """The answer for each unit, in the order in which they come.

    All children end with the iterator. A unit that kills its child, or takes too long, has failed.
    """
    with ExitStack() as everything, selectors.DefaultSelector() as selector:
        pool = _ParserPool(program, list(reversed(units)), selector, everything)
        for done, (unit, found) in enumerate(pool.run(), start=1):
            progress(done, len(units))
            yield unit, found


@dataclass(slots=True)
class _ParserPool:
    """The children, and the units that wait for one."""

    program: Parser
    waiting: list[Unit]
    selector: selectors.BaseSelector
    everything: ExitStack

    def run(self) -> Iterator[tuple[Unit, UnitAnswer]]:
        for _ in range(min(len(os.sched_getaffinity(0)), len(self.waiting))):
            yield from self._employ()
        while self.selector.get_map():
            soonest = min(key.data.deadline for key in self.selector.get_map().values())
            for key, _ in self.selector.select(max(0.0, soonest - time.monotonic())):
                yield from self._hear(key.data)
            for key in list(self.selector.get_map().values()):
                if time.monotonic() > key.data.deadline:
                    yield from self._lose(key.data, f"it was not parsed within {UNIT_SECONDS} s")

    def _employ(self) -> Iterator[tuple[Unit, UnitAnswer]]:
        """Start a child and give it the next unit."""
        closing = self.everything.enter_context(ExitStack())
        streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        command = Command(self.program.argv, Path("/"), UNIT_SECONDS, Confinement(self.program.readable))
        one = _Child(closing.enter_context(started(command, streams)), closing)
        os.set_blocking(one.output.fileno(), False)
        self.selector.register(one.output, selectors.EVENT_READ, one)
        yield from self._give(one)

    def _give(self, one: _Child) -> Iterator[tuple[Unit, UnitAnswer]]:
        """Give the child its next unit, or let it go; units that cannot be asked for have failed."""
        one.said.clear()
        while self.waiting:
            one.unit = self.waiting.pop()
            try:
                line = question(one.unit, self.program.outside)
            except TreeError as error:
                yield one.unit, UnitAnswer(one.unit.file, str(error), fatal=True)
                continue
            one.deadline = time.monotonic() + UNIT_SECONDS
            try:
                one.input.write(line)
                one.input.flush()
            except BrokenPipeError:
                yield from self._lose(one, "the program that parses it ended")
            return
        self._dismiss(one)

    def _hear(self, one: _Child) -> Iterator[tuple[Unit, UnitAnswer]]:
        piece = one.output.read(1 << 20)
        if piece is None or one.unit is None:
            return
        one.said += piece
        if not piece or len(one.said) > _MOST_BYTES:
            yield from self._lose(one, "the program that parses it ended")
        elif one.said.endswith(b"\n"):
            yield one.unit, answer(bytes(one.said))
            yield from self._give(one)

    def _lose(self, one: _Child, reason: str) -> Iterator[tuple[Unit, UnitAnswer]]:
        """Give the unit up with its child; another takes its place."""
        if one.unit is not None:
            yield one.unit, UnitAnswer(one.unit.file, reason, fatal=True)
        self._dismiss(one)
        if self.waiting:
            yield from self._employ()

    def _dismiss(self, one: _Child) -> None:
        self.selector.unregister(one.output)
        one.closing.close()
