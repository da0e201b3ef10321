# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of a benchmark, as a user wrote them: each is read as what it has to be, unknown ones are refused."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown, CommandTimedOut
from linesmith.analyzer.model import Done, Setting, Step
from linesmith.plugins.api import Settings

Variables = Sequence[tuple[str, str]]

MOST_THREADS = 1024
# Where a program of others is, if not in PATH, and the folder in which the user has one.
PROGRAM = "program"
DIRECTORY = "directory"
# What every benchmark takes: the longest that one of its commands may run, and the CPUs that they run on.
_OF_ALL = ("limit", "cpus")
_LIMIT_SECONDS = 300
_MOST_CPUS = 4096
_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """The settings given to the benchmark of that name; messages name both."""

    benchmark: str
    settings: Settings

    def refuse(self, name: str, wanted: str) -> BenchmarkUnknown:
        """The error of the setting called ``name``, which should be as ``wanted`` says."""
        return BenchmarkUnknown(
            f"{name} = {shown(self.settings[name])} is no setting for the benchmark {self.benchmark}: give {wanted}"
        )

    def text(self, name: str, default: str = "") -> str:
        """A text that is not empty; ``default`` where there is none."""
        value = self.settings.get(name, default)
        if not isinstance(value, str) or (name in self.settings and not value.strip()):
            raise self.refuse(name, "a text")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of ``choices``, the first by default."""
        value = self.settings.get(name, choices[0])
        if value not in choices or not isinstance(value, str):
            raise self.refuse(name, f"one of {', '.join(choices)}{nearest(str(value), choices)}")
        return value

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.settings.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.refuse(name, f"a whole number from {least} to {most}")
        return value

    def seconds(self, name: str, default: float, most: float) -> float:
        """A number above 0 and at most ``most``; ``default`` where there is none."""
        value = self.settings.get(name, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self.refuse(name, "a number")
        if name in self.settings and not (math.isfinite(value) and 0 < value <= most):
            raise self.refuse(name, f"a number of seconds above 0 and at most {most:g}")
        return float(value)

    def switch(self, name: str) -> bool:
        """``true`` or ``false``, which is the default."""
        value = self.settings.get(name, False)
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or a single one; none by default."""
        value = self.settings.get(name, ())
        several = (value,) if isinstance(value, str) else value
        if not isinstance(several, tuple) or not all(isinstance(each, str) and each.strip() for each in several):
            raise self.refuse(name, "a list of texts")
        return several

    def family(self, name: str) -> tuple[tuple[str, str], ...]:
        """The texts of settings ``name.KEY``, by key, in the order given."""
        prefix = f"{name}."
        return tuple((each.removeprefix(prefix), self.text(each)) for each in self.settings if each.startswith(prefix))

    def step(self, command: Sequence[str], seconds: float = 0.0, environment: Variables = ()) -> Step:
        """The command, which is meant to take ``seconds``, with the limit and on the CPUs that were given."""
        limit = self.whole("limit", _LIMIT_SECONDS + math.ceil(2 * seconds), 1, 7 * 24 * 3600)
        return Step(tuple(command), limit, self._cpus(), tuple(environment))

    def _cpus(self) -> tuple[int, ...]:
        """CPUs as taskset(1) takes them: ``0-3,8``; none leave the commands free."""
        found: set[int] = set()
        for part in self.text("cpus").split(",") if "cpus" in self.settings else ():
            match = _RANGE.fullmatch(part.strip())
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, _MOST_CPUS)
            if not first <= last < _MOST_CPUS:
                raise self.refuse("cpus", 'CPUs such as "0-3,8"')
            found.update(range(first, last + 1))
        return tuple(sorted(found))


def options_of(
    benchmark: str, settings: Settings, known: Collection[str], families: Collection[str] = ()
) -> BenchmarkOptions:
    """The settings, if each is ``known`` or one of a family (``name.KEY``); raises ``BenchmarkUnknown``."""
    names = (*known, *_OF_ALL)
    for name in settings:
        family, dot, key = name.partition(".")
        if name not in names and not (dot and key and family in families):
            every = (*names, *(f"{each}.NAME" for each in families))
            raise BenchmarkUnknown(
                f"the benchmark {shown(benchmark)} has no setting {shown(name)}{nearest(name, every)}; "
                f"its settings are {', '.join(sorted(every))}"
            )
    found = BenchmarkOptions(benchmark, settings)
    found.step(())
    return found


def nearest(word: str, words: Collection[str]) -> str:
    """A question about the word that may have been meant, behind a comma; empty when none is near."""
    close = get_close_matches(word, words, 1)
    return f" (did you mean {close[0]}?)" if close else ""


def shown(value: Setting) -> str:
    """A value as a message shows it: short, on one line, nothing that a terminal obeys."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def thread_count(benchmark: str, threads: int) -> int:
    """``threads``, if a benchmark can be run with so many; raises ``BenchmarkUnknown``."""
    if not 1 <= threads <= MOST_THREADS:
        raise BenchmarkUnknown(f"{benchmark} cannot run with {threads} threads; give 1 to {MOST_THREADS}")
    return threads


def program(options: BenchmarkOptions, name: str) -> str:
    """The path of the program called ``name``, or of what ``program`` names; its bare name where it is not here."""
    named = options.text(PROGRAM, name)
    found = shutil.which(named)
    return os.path.abspath(found) if found else named  # noqa: PTH100 - a link's own name says what it is to do


def program_obstacle(options: BenchmarkOptions, name: str, package: str) -> str | None:
    """Why it cannot be run, a sentence without its full stop; what ``program`` names may be on another machine."""
    if PROGRAM in options.settings or shutil.which(name):
        return None
    return f"{name} is not installed; install the package {package}, or name it with {PROGRAM} = PATH"


def directory(options: BenchmarkOptions, what: str) -> Path:
    """The folder that the user has; raises ``BenchmarkUnknown`` when none is named."""
    if DIRECTORY not in options.settings:
        raise BenchmarkUnknown(
            f'the benchmark {options.benchmark} is not part of linesmith; set its place with {DIRECTORY} = "{what}"'
        )
    return Path(os.path.abspath(Path(options.text(DIRECTORY)).expanduser()))  # noqa: PTH100 - links keep their names


def files_obstacle(options: BenchmarkOptions, *files: Path) -> str | None:
    """The first file that is not there, a sentence without its full stop."""
    missing = next((path for path in files if not path.exists()), None)
    return f"{missing} is not there; build {options.benchmark} in its folder first" if missing else None


# What the commands of a benchmark left: whether they ended well, their words, and the sound numbers in them.

Values = tuple[tuple[str, float], ...]

# Numbers that no counter and no clock reaches; what is beyond is a misread text.
MOST = 1e18
_NUMBER = re.compile(r"[-+]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][-+]?\d{1,9})?", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_WORD_CHARACTERS = 40
# Results are told at the end, and a program that has lost its way may have said anything before.
MOST_CHARACTERS = 1 << 20
_LAST_LINES = 5
_LINE_CHARACTERS = 160
GROUP = "value"
_CPU_SECONDS = 10
# Where others keep the CPUs busy, the same takes longer.
_WALL_SECONDS = 120
# Read with this module, so that an upgrade of the package in the middle of a run changes nothing.
_SEARCHER = Path(__file__).with_name("searcher.py").read_text("utf-8")


def ended_well(benchmark: str, done: Sequence[Done]) -> tuple[Done, ...]:
    """The commands whose words count, in order; raises ``BenchmarkFailed`` when any command did not end with 0."""
    for one in done:
        if one.status != 0:
            words = last_lines(words_of(one))
            raise BenchmarkFailed(
                f"the benchmark {benchmark} failed: {command_line(one)} ended with status {one.status}{words}"
            )
    loud = tuple(one for one in done if not one.step.silent)
    if not loud:
        raise BenchmarkFailed(f"the benchmark {benchmark} failed: none of its commands was run")
    return loud


def nonsense(benchmark: str, what: str, text: str) -> BenchmarkNonsense:
    """The error of an output in which ``what`` is wrong, with its last lines."""
    return BenchmarkNonsense(f"the output of the benchmark {benchmark} makes no sense: {what}{last_lines(text)}")


def number(benchmark: str, what: str, word: str, text: str) -> float:
    """The number that ``word`` spells, above 0 and finite; raises ``BenchmarkNonsense``, ``text`` being the output."""
    plain = word.strip()
    if _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    if not _NUMBER.fullmatch(plain):
        raise nonsense(benchmark, f"{what} is {printable(word)[:_WORD_CHARACTERS]!r}, which is not a number", text)
    return sound(benchmark, what, float(plain), text)


def sound(benchmark: str, what: str, value: float, text: str) -> float:
    """``value``, if it is above 0, finite and no absurdity; raises ``BenchmarkNonsense``."""
    if not math.isfinite(value) or not 0 < value <= MOST:
        raise nonsense(benchmark, f"{what} is {value:g}, which is out of range", text)
    return value


def words_of(done: Done) -> str:
    """The end of all that the command wrote: some programs tell their results on standard error."""
    return end_of(f"{done.output}\n{done.errors}" if done.errors else done.output, MOST_CHARACTERS)


def end_of(text: str, characters: int) -> str:
    """The last lines of a text, not more than so many characters; of a single line that is longer, its end."""
    if len(text) <= characters:
        return text
    end = text[-characters:]
    return end.partition("\n")[2] or end


def command_line(done: Done) -> str:
    """The command as for a shell, cut where it is long."""
    line = printable(shlex.join(done.step.command))
    return line if len(line) <= _LINE_CHARACTERS else f"{line[:_LINE_CHARACTERS]}..."


def last_lines(text: str) -> str:
    """The last lines of a text behind a colon, safe to show; says so when there are none."""
    tail = text[-_LAST_LINES * 4 * _LINE_CHARACTERS :]
    lines = [printable(line).strip() for line in tail.splitlines()]
    last = [line[:_LINE_CHARACTERS] for line in lines if line][-_LAST_LINES:]
    return "; its last lines: " + " | ".join(last) if last else "; it printed nothing"


def printable(text: str) -> str:
    """The text with everything that a terminal might obey taken out."""
    return "".join(each if each.isprintable() else " " for each in text)


def checked(benchmark: str, pattern: str) -> str:
    """``pattern``, if it is a regular expression with a group ``value`` or exactly one; raises ``BenchmarkUnknown``."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BenchmarkUnknown(
            f"the pattern {shown(pattern)} of the benchmark {benchmark} is not a Python regular expression: {error}"
        ) from error
    if GROUP not in compiled.groupindex and compiled.groups != 1:
        raise BenchmarkUnknown(
            f"the pattern {shown(pattern)} of the benchmark {benchmark} has no group for the number: put"
            f" (?P<{GROUP}>...) around it"
        )
    return pattern


def matches(benchmark: str, pattern: str, text: str) -> tuple[str, ...]:
    """What the group matches in ``text``, in order; raises ``BenchmarkNonsense`` when the search takes too long."""
    question = {"pattern": pattern, "group": GROUP, "text": text}
    command = (sys.executable, "-I", "-S", "-c", _SEARCHER, str(_CPU_SECONDS))
    try:
        answer = run_apart(Command(command, Path("/"), _WALL_SECONDS, input=json.dumps(question).encode()))
    except CommandTimedOut as error:
        raise _too_slow(benchmark, pattern, text) from error
    if answer.status == -signal.SIGXCPU:
        raise _too_slow(benchmark, pattern, text)
    if answer.status != 0:
        raise BenchmarkNonsense(
            f"the search for the pattern {shown(pattern)} of the benchmark {benchmark} ended with status "
            f"{answer.status} in an output of {len(text)} characters{last_lines(answer.errors)}"
        )
    return tuple(json.loads(answer.output))


def _too_slow(benchmark: str, pattern: str, text: str) -> BenchmarkNonsense:
    return BenchmarkNonsense(
        f"the pattern {shown(pattern)} of the benchmark {benchmark} is not found within {_CPU_SECONDS} s in an output "
        f"of {len(text)} characters; write it with fewer repetitions in repetitions"
    )
