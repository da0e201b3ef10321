# SPDX-License-Identifier: GPL-2.0-or-later
"""What the commands of a benchmark left: whether they ended well, their words, and the sound numbers in them.

The pattern of a user is searched in a process of its own: the module ``re`` cannot be interrupted in its thread, and
some patterns take time exponential in the length of a line.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import BenchmarkFailed, BenchmarkNonsense, BenchmarkUnknown, CommandTimedOut
from linesmith.analyzer.model import Done
from linesmith.plugins.benchmarks.settings import shown

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
