# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of a benchmark as a user wrote them, and what its commands left: how they ended, and their numbers."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown
from linesmith.analyzer.model import Done, Step
from linesmith.plugins.api import Benchmark, Settings
from linesmith.plugins.settings import read_settings

Variables = Sequence[tuple[str, str]]
Operations = Annotated[int, Meta(ge=1, le=10**12)]
Seconds = Annotated[int, Meta(ge=1, le=24 * 3600)]
EITHER = "give either operations or seconds, not both"

_LIMIT_SECONDS = 300
_MOST_CPUS = 4096
_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


class BenchmarkSettings(Struct, frozen=True, kw_only=True):
    """What every benchmark takes: the seconds that a command may run, and the CPUs that commands run on."""

    limit: Annotated[int, Meta(ge=1, le=7 * 24 * 3600)] | None = None
    cpus: str = ""

    def __post_init__(self) -> None:
        cpus_of(self.cpus)

    def step(self, command: Sequence[str], seconds: float = 0.0, environment: Variables = ()) -> Step:
        """The command, which is meant to take ``seconds``, with the limit and on the CPUs that were given."""
        limit = self.limit or _LIMIT_SECONDS + math.ceil(2 * seconds)
        return Step(tuple(command), limit, cpus_of(self.cpus), tuple(environment))


def cpus_of(text: str) -> tuple[int, ...]:
    """CPUs as taskset(1) takes them: ``0-3,8``; none leave the commands free. Raises ``ValueError``."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, _MOST_CPUS)
        if not first <= last < _MOST_CPUS:
            raise ValueError(f'cpus = {text!r} are no CPUs; give them as in "0-3,8"')
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def program(named: str, name: str) -> str:
    """The path of the program that was ``named``, or else of ``name``; the bare name where it is not here."""
    found = shutil.which(named or name)
    return os.path.abspath(found) if found else named or name  # noqa: PTH100 - a link's own name says what it is to do


def program_obstacle(named: str, name: str, package: str) -> str | None:
    """Why it cannot be run, a sentence without its full stop; one that was ``named`` may be on another machine."""
    if named or shutil.which(name):
        return None
    return f"{name} is not installed; install the package {package}, or name it with program = PATH"


def directory(named: str) -> Path:
    """The folder that the user has named."""
    return Path(os.path.abspath(Path(named).expanduser()))  # noqa: PTH100 - links keep their names


def files_obstacle(benchmark: str, *files: Path) -> str | None:
    """The first file that is not there, a sentence without its full stop."""
    missing = next((path for path in files if not path.exists()), None)
    return f"{missing} is not there; build {benchmark} in its folder first" if missing else None


Values = tuple[tuple[str, float], ...]

# Numbers that no counter and no clock reaches; what is beyond is a misread text.
MOST = 1e18
_NUMBER = re.compile(r"[-+]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][-+]?\d{1,9})?", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_WORD_CHARACTERS = 40
# Results are reported at the end, and a program that has lost its way may have printed anything before.
MOST_CHARACTERS = 1 << 20
_LAST_LINES = 5
_LINE_CHARACTERS = 160


def words_of(done: Done) -> str:
    """The end of all that the command wrote: some programs tell their results on standard error."""
    return end_of(f"{done.output}\n{done.errors}" if done.errors else done.output, MOST_CHARACTERS)


def end_of(text: str, characters: int) -> str:
    """The last lines of a text, not more than so many characters; of a single line that is longer, its end."""
    if len(text) <= characters:
        return text
    end = text[-characters:]
    return end.partition("\n")[2] or end


def last_lines(text: str) -> str:
    """The last lines of a text behind a colon, safe to show; says so when there are none."""
    tail = text[-_LAST_LINES * 4 * _LINE_CHARACTERS :]
    lines = [printable(line).strip() for line in tail.splitlines()]
    last = [line[:_LINE_CHARACTERS] for line in lines if line][-_LAST_LINES:]
    return "; its last lines: " + " | ".join(last) if last else "; it printed nothing"


def printable(text: str) -> str:
    """The text with everything that a terminal might obey taken out."""
    return "".join(each if each.isprintable() else " " for each in text)


Given = TypeVar("Given", bound=BenchmarkSettings)


class NamedBenchmark(Benchmark, Generic[Given]):
    """A benchmark with settings of one ``kind``; errors about these or its output name it."""

    kind: type[Given]

    def given(self, settings: Settings) -> Given:
        """The settings; raises ``BenchmarkUnknown`` for those that make no sense."""
        return read_settings(settings, self.kind, f"the benchmark {self.name}", BenchmarkUnknown)

    def ended_well(self, done: Sequence[Done]) -> Done:
        """The last command whose words count; raises ``BenchmarkFailed`` when any command did not end with 0."""
        for one in done:
            if one.status != 0:
                line = printable(shlex.join(one.step.command))[:_LINE_CHARACTERS]
                words = last_lines(words_of(one))
                raise BenchmarkFailed(f"the benchmark {self.name} failed: {line} ended with status {one.status}{words}")
        loud = [one for one in done if not one.step.silent]
        if not loud:
            raise BenchmarkFailed(f"the benchmark {self.name} failed: none of its commands was run")
        return loud[-1]

    def nonsense(self, what: str, text: str) -> BenchmarkNonsense:
        """The error of an output in which ``what`` is wrong, with its last lines."""
        return BenchmarkNonsense(f"the output of the benchmark {self.name} makes no sense: {what}{last_lines(text)}")

    def number(self, what: str, word: str, text: str) -> float:
        """The number that ``word`` of the output ``text`` spells, above 0 and finite; raises ``BenchmarkNonsense``."""
        plain = word.strip()
        if _THOUSANDS.fullmatch(plain):
            plain = plain.replace(",", "")
        if not _NUMBER.fullmatch(plain):
            raise self.nonsense(f"{what} is {printable(word)[:_WORD_CHARACTERS]!r}, which is not a number", text)
        return self.sound(what, float(plain), text)

    def sound(self, what: str, value: float, text: str) -> float:
        """``value``, if it is above 0, finite and no absurdity; raises ``BenchmarkNonsense``."""
        if not math.isfinite(value) or not 0 < value <= MOST:
            raise self.nonsense(f"{what} is {value:g}, which is out of range", text)
        return value
