# SPDX-License-Identifier: GPL-2.0-or-later
"""Any command that prints a number, as a user describes it."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import CommandTimedOut
from linesmith.analyzer.model import Better, Done, Metric, Step
from linesmith.plugins.api import Settings
from linesmith.plugins.benchmarks.settings import BenchmarkSettings, NamedBenchmark, Values, end_of, words_of

SECONDS = "seconds"
VALUE = "value"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,63}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# Without a pattern, the number is expected near the end: a word of it, with or without a unit behind.
_TAIL_CHARACTERS = 1 << 16
_WORD = re.compile(r"[\w.,+%-]+")
_WORD_CHARACTERS = 40
_WITH_UNIT = re.compile(r"([-+]?(?:[\d,]+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[^\W\d_]{0,8}%?[.,]?", re.ASCII)
_NO_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)

_SEARCH_SECONDS = 20
_SEARCHER = """
import json, re, sys
asked = json.load(sys.stdin)
found = (match[asked["group"]] for match in re.finditer(asked["pattern"], asked["text"], re.MULTILINE))
last = None
for word in found:
    last = last if word is None else word
json.dump(last, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class OutputNumber:
    """One number of the output: the last match of ``pattern``, or the last number there is where that is empty."""

    metric: Metric
    pattern: str


class CommandSettings(BenchmarkSettings, frozen=True, kw_only=True):
    """What to run, what before it, and which numbers its output has; ``wall`` measures its time, too.

    ``unit`` and ``better`` are those of all numbers, or of those with a pattern of that name.
    """

    run: str
    prepare: str | tuple[str, ...] = ()
    environment: str | tuple[str, ...] = ()
    pattern: str | dict[str, str] = ""
    unit: str | dict[str, str] = ""
    better: Better | dict[str, Better] = Better.LOWER
    wall: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [one.metric.name for one in self.numbers()]
        if strange := next((name for name in names if not _NAME.fullmatch(name)), None):
            raise ValueError(f"a metric cannot be called {strange!r}; use letters and digits")
        if self.wall and SECONDS in names:
            raise ValueError(f"there are two metrics {SECONDS}; rename the pattern's")
        for one in filter(None, (one.pattern for one in self.numbers())):
            _compiled(one)
        for table in (self.unit, self.better):
            if stray := set(table if isinstance(table, dict) else ()) - set(names):
                raise ValueError(f"there is no pattern.{min(stray)}, but another setting of that number")
        tuple(self.lines())
        self.variables()

    def numbers(self) -> tuple[OutputNumber, ...]:
        """The numbers of the output, in their order."""
        patterns = self.pattern if isinstance(self.pattern, dict) else {VALUE: self.pattern}
        if self.wall and not self.pattern:
            return ()
        return tuple(
            OutputNumber(
                Metric(
                    name,
                    self.unit.get(name, "") if isinstance(self.unit, dict) else self.unit,
                    self.better.get(name, Better.LOWER) if isinstance(self.better, dict) else self.better,
                ),
                pattern,
            )
            for name, pattern in patterns.items()
        )

    def lines(self) -> Iterator[list[str]]:
        """The words of each command line, the one to measure last; raises ``ValueError``."""
        for line in (*_texts(self.prepare), self.run):
            words = shlex.split(line)
            if not words:
                raise ValueError(f"{line!r} is not a command line; give a program and its words")
            yield words

    def variables(self) -> tuple[tuple[str, str], ...]:
        """The environment by name; raises ``ValueError``."""
        found = [_VARIABLE.fullmatch(each) for each in _texts(self.environment)]
        if not all(found):
            raise ValueError("environment holds other texts than NAME=VALUE; write them so")
        return tuple((match[1], match[2]) for match in found if match)


def _texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, which needs a group ``value`` or exactly one; raises ``ValueError``."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"the pattern {pattern!r} is not a Python regular expression: {error}") from error
    if VALUE not in compiled.groupindex and compiled.groups != 1:
        raise ValueError(f"the pattern {pattern!r} has no group for the number; put (?P<{VALUE}>...) around it")
    return compiled


def numbers_in(text: str) -> list[str]:
    """The words of a text that are numbers, without the unit that may follow; what is not finite is one too."""
    found = []
    for word in _WORD.findall(text):
        match = _WITH_UNIT.fullmatch(word) if len(word) <= _WORD_CHARACTERS else None
        if match:
            found.append(match[1].rstrip(","))
        elif _NO_FINITE.fullmatch(word):
            found.append(word)
    return found


class CommandBenchmark(NamedBenchmark[CommandSettings]):
    """A command of the user; its numbers are what patterns find in its output, the last one there, or its wall time."""

    name = "command"
    kind = CommandSettings

    def metrics(self, settings: Settings) -> tuple[Metric, ...]:
        """The numbers as named in the settings, then ``seconds`` where it is asked for."""
        given = self.given(settings)
        wall = (Metric(SECONDS, "s", Better.LOWER),) if given.wall else ()
        return (*(each.metric for each in given.numbers()), *wall)

    def obstacle(self, settings: Settings) -> str | None:
        """None that can be seen from here: the command may be there only where it runs."""
        self.metrics(settings)
        return None

    def steps(self, settings: Settings, threads: int, scratch: Path) -> tuple[Step, ...]:  # noqa: ARG002 - nothing kept
        """The preparations, then the command; ``{threads}`` in a word becomes their number."""
        given = self.given(settings)
        lines = ([word.replace("{threads}", str(threads)) for word in line] for line in given.lines())
        *before, run = (given.step(line, 0, given.variables()) for line in lines)
        return (*(replace(step, silent=True) for step in before), run)

    def operations(self, settings: Settings, threads: int) -> int | None:  # noqa: ARG002 - nobody knows more
        """One, the command itself, which is taken to do the same work each time."""
        return 1

    def parse(self, settings: Settings, done: Sequence[Done]) -> Values:
        """The numbers found; raises ``BenchmarkFailed`` or ``BenchmarkNonsense``."""
        given = self.given(settings)
        last = self.ended_well(done)
        values = [(each.metric.name, self._value(each, last)) for each in given.numbers()]
        if given.wall:
            values.append((SECONDS, self.sound("the wall time", last.seconds, last.output)))
        return tuple(values)

    def _value(self, wanted: OutputNumber, done: Done) -> float:
        text = words_of(done)
        if wanted.pattern:
            word = self._last_match(wanted.pattern, text)
            missing = f"nothing in it matches {wanted.pattern!r:.80}"
        else:
            # What programs say on standard error is no result, unless they say nothing else.
            tails = (end_of(said, _TAIL_CHARACTERS) for said in (done.output, done.errors))
            word = next((words[-1] for words in map(numbers_in, tails) if words), None)
            missing = "it has no number"
        if word is None:
            raise self.nonsense(missing, text)
        return self.number(wanted.metric.name, word, text)

    def _last_match(self, pattern: str, text: str) -> str | None:
        """What the group of the number matched last, where it took part.

        It is searched by a process of its own, for a pattern may take for ever and nothing else ends it. Raises
        ``BenchmarkNonsense`` where it does.
        """
        compiled = _compiled(pattern)
        question = {"pattern": pattern, "group": VALUE if VALUE in compiled.groupindex else 1, "text": text}
        argv = (sys.executable, "-I", "-S", "-c", _SEARCHER)
        try:
            answer = run_apart(Command(argv, Path("/"), _SEARCH_SECONDS, input=json.dumps(question).encode()))
        except CommandTimedOut as error:
            said = f"nothing in it matches {pattern!r:.80} within {_SEARCH_SECONDS} s; write it with fewer repetitions"
            raise self.nonsense(f"{said} in repetitions", text) from error
        if answer.status:
            raise self.nonsense(f"the search for {pattern!r:.80} ended with status {answer.status}", text)
        found: str | None = json.loads(answer.output)
        return found
