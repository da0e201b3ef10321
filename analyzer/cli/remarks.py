# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command says beside its result, on standard error: as loud as ``-q`` and ``-v`` have it."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum

import click

from linesmith.analyzer.base.visible import visible

_LOUDNESS = "linesmith.loudness"
_START = "subprocess.Popen"
_GIT = "git"


class Loudness(IntEnum):
    """How much is said: results and errors only, remarks too, every child command and what took how long."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


def loudness() -> Loudness:
    """What the running command was asked for; normal where none runs."""
    context = click.get_current_context(silent=True)
    found: Loudness = context.meta.get(_LOUDNESS, Loudness.NORMAL) if context else Loudness.NORMAL
    return found


def quiet() -> bool:
    """Whether remarks and progress are unwanted."""
    return loudness() is Loudness.QUIET


def remark(sentence: str) -> None:
    """Say a sentence about the work, unless that is unwanted; names in it may come from files and are made visible."""
    say(f"linesmith: {sentence}")


def say(line: str) -> None:
    """The same for a line that is not headed by the name of the program."""
    if not quiet():
        click.echo(visible(line), err=True)


def loudness_options() -> tuple[click.Option, ...]:
    """``-v`` and ``-q``, for every command."""
    verbose = click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=_louder,
        help="Also say which commands are run, and how long it all took.",
    )
    quiet_ = click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_quieter,
        help="Say nothing beside the result but errors.",
    )
    return verbose, quiet_


def _louder(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing and _chosen(context, Loudness.VERBOSE):
        clock = _Clock()
        sys.addaudithook(clock.hear)
        context.call_on_close(clock.end)


def _quieter(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        _chosen(context, Loudness.QUIET)


def _chosen(context: click.Context, wanted: Loudness) -> bool:
    """Whether this is the first time that it is asked for."""
    before = context.meta.get(_LOUDNESS)
    if before not in (None, wanted):
        raise click.UsageError("-v and -q contradict each other; give one of them", context)
    context.meta[_LOUDNESS] = wanted
    return before is None


class _Clock:
    """Tells of every process that is started, and in the end of the time that it all took."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._settings: set[tuple[str, ...]] = set()

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit hook of the interpreter: it hears whatever module starts a process. See sys.addaudithook()."""
        if event == _START:
            with suppress(OSError, ValueError):
                self._say(f"runs {shlex.join(self._not_told_yet(_words(arguments[1])))}")

    def end(self) -> None:
        """The time since the beginning, and the processor time here and in children that have ended."""
        used = os.times()
        children = used.children_user + used.children_system
        self._say(f"done; processor time {used.user + used.system:.2f} s here, {children:.2f} s in child processes")

    def _not_told_yet(self, words: list[str]) -> list[str]:
        """The words; a run of git has some thirty before its command, which are told the first time alone."""
        settings = _settings_of(words)
        if settings in self._settings:
            return [_GIT, "...", *words[1 + len(settings) :]]
        if settings:
            self._settings.add(settings)
        return words

    def _say(self, what: str) -> None:
        click.echo(visible(f"linesmith: {time.monotonic() - self._begin:8.3f} s: {what}".replace("\n", " ")), err=True)


def _words(command: object) -> list[str]:
    words = command if isinstance(command, Sequence) and not isinstance(command, (str, bytes)) else [command]
    return [os.fsdecode(word) if isinstance(word, (str, bytes, os.PathLike)) else str(word) for word in words]


def _settings_of(words: Sequence[str]) -> tuple[str, ...]:
    """What git is told before its command: options, of which ``-c`` and ``-C`` have a value behind them."""
    end = 1
    while words[:1] == [_GIT] and end < len(words) and words[end].startswith("-"):
        end += 2 if words[end] in ("-c", "-C") else 1
    return tuple(words[1:end])
