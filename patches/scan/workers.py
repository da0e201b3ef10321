# SPDX-License-Identifier: GPL-2.0-or-later
"""Children that parse units side by side, each one at a time, so that one that dies costs its unit only."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from linesmith.analyzer.errors import ScanFailed, TreeError
from linesmith.patches.child import Command, started
from linesmith.patches.confinement import Confinement
from linesmith.patches.scan.answer import Answer, answer
from linesmith.patches.scan.program import question
from linesmith.patches.scan.unit import Unit
from linesmith.plugins.machines.child import Streams

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
    """A running program, the unit that it parses, and what it has said of it so far."""

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


def parsed(program: Parser, units: Sequence[Unit], progress: Progress) -> Iterator[tuple[Unit, Answer]]:
    """The answer for each unit, in the order in which they come.

    All children end with the iterator. A unit that kills its child, or takes too long, has failed.
    """
    with ExitStack() as everything, selectors.DefaultSelector() as selector:
        pool = _Pool(program, list(reversed(units)), selector, everything)
        for done, (unit, found) in enumerate(pool.run(), start=1):
            progress(done, len(units))
            yield unit, found


class _Pool:
    """The children, and the units that wait for one."""

    def __init__(
        self, program: Parser, waiting: list[Unit], selector: selectors.BaseSelector, everything: ExitStack
    ) -> None:
        self.program = program
        self.waiting = waiting
        self.selector = selector
        self.everything = everything

    def run(self) -> Iterator[tuple[Unit, Answer]]:
        for _ in range(min(len(os.sched_getaffinity(0)), len(self.waiting))):
            yield from self._employ()
        while self.selector.get_map():
            soonest = min(key.data.deadline for key in self.selector.get_map().values())
            for key, _ in self.selector.select(max(0.0, soonest - time.monotonic())):
                yield from self._hear(key.data)
            for key in list(self.selector.get_map().values()):
                if time.monotonic() > key.data.deadline:
                    yield from self._lose(key.data, f"it was not parsed within {UNIT_SECONDS} s")

    def _employ(self) -> Iterator[tuple[Unit, Answer]]:
        """Start a child and give it the next unit."""
        closing = self.everything.enter_context(ExitStack())
        streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        command = Command(self.program.argv, Path("/"), UNIT_SECONDS, Confinement(self.program.readable))
        one = _Child(closing.enter_context(started(command, streams)), closing)
        os.set_blocking(one.output.fileno(), False)
        self.selector.register(one.output, selectors.EVENT_READ, one)
        yield from self._give(one)

    def _give(self, one: _Child) -> Iterator[tuple[Unit, Answer]]:
        """Give the child its next unit, or let it go; units that cannot be asked for have failed."""
        one.said.clear()
        while self.waiting:
            one.unit = self.waiting.pop()
            try:
                line = question(one.unit, self.program.outside)
            except TreeError as error:
                yield one.unit, _failed(one.unit, str(error))
                continue
            one.deadline = time.monotonic() + UNIT_SECONDS
            if not _told(one, line):
                yield from self._lose(one, "the program that parses it ended")
            return
        self._dismiss(one)

    def _hear(self, one: _Child) -> Iterator[tuple[Unit, Answer]]:
        piece = one.output.read(1 << 20)
        if piece is None or one.unit is None:
            return
        one.said += piece
        if not piece or len(one.said) > _MOST_BYTES:
            yield from self._lose(one, "the program that parses it ended")
        elif one.said.endswith(b"\n"):
            yield one.unit, answer(bytes(one.said))
            yield from self._give(one)

    def _lose(self, one: _Child, reason: str) -> Iterator[tuple[Unit, Answer]]:
        """Give the unit up with its child; another takes its place."""
        if one.unit is not None:
            yield one.unit, _failed(one.unit, reason)
        self._dismiss(one)
        if self.waiting:
            yield from self._employ()

    def _dismiss(self, one: _Child) -> None:
        self.selector.unregister(one.output)
        one.closing.close()


def _told(one: _Child, line: bytes) -> bool:
    if one.process.stdin is None:
        return False
    try:
        one.process.stdin.write(line)
        one.process.stdin.flush()
    except BrokenPipeError:
        return False
    return True


def _failed(unit: Unit, complaint: str) -> Answer:
    return Answer(unit.file, 1, complaint, fatal=True)
