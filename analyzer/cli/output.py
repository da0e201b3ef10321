# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a result goes, what the terminal can show of it, and what is printed on standard error.

A result goes to the terminal or the file that ``-o`` names, never to one that the command reads. Remarks, child
commands and progress are as loud as ``-q`` and ``-v`` have it; who waits at a terminal sees how far it is, a log gets
the steps that take long, and no more.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import OutputError
from linesmith.analyzer.base.text import visible

if TYPE_CHECKING:
    from linesmith.analyzer.model import LineMap
    from linesmith.analyzer.report.map_text import MapRow

# A patch is often kept in the tree it is for; anything else there is source.
_REPLACED_IN_A_TREE = frozenset((".patch", ".diff"))
# A page is often kept in the run directory it is of, and made again.
_OUR_PAGE = b"<!DOCTYPE html>\n<!-- linesmith report -->"
_BINARY = (b"\x7fELF", b"\x9f\xeb", b"\xeb\x9f")


def deliver(content: bytes, destination: Path | None, options: Collection[str] = ("output",)) -> None:
    """Write the bytes; raises ``OutputError`` where that cannot be done or would destroy what the user owns.

    A file that is there stays as it is then. ``options`` are the names of the command's parameters that name results.
    """
    if destination is None:
        click.echo(content, nl=False)
    else:
        deliver_parts((content,), destination, options)


def deliver_parts(parts: Iterable[bytes], destination: Path, options: Collection[str]) -> None:
    """Write the parts, which need not be in memory together, as ``deliver`` does."""
    try:
        files.check(destination)
        if destination.is_file():
            _refuse_to_destroy(destination, options)
        files.replace_by_parts(destination, parts)
    except OSError as error:
        reason = _without_folder(destination) or f"{error.strerror}; name another file"
        raise OutputError(f"cannot write {destination}: {reason} with {_named(options)}") from None


def _without_folder(destination: Path) -> str:
    """That the folder is missing that it would be in, and what to do; empty where it is there."""
    folder = destination.parent
    return "" if folder.is_dir() else f"the directory {folder} does not exist; create it, or name another file"


def _named(options: Collection[str]) -> str:
    """The option that names a result, as a user writes it."""
    return "-o" if "output" in options else " or ".join(f"--{one.replace('_', '-')}" for one in options)


def check_destinations(destinations: Sequence[Path], options: Collection[str]) -> None:
    """Raise ``OutputError`` where ``deliver`` would, before the work is done that makes the results.

    ``options`` are the names of the command's parameters that name results.
    """
    places = [destination.absolute() for destination in destinations]
    for place in places:
        if places.count(place) > 1:
            raise OutputError(f"{place} would be written twice; name different files")
        if missing := _without_folder(place):
            raise OutputError(f"cannot write {place}: {missing}")
        try:
            files.check(place)
        except OSError as error:
            raise OutputError(f"cannot write {place}: {error.strerror}; name another file") from None
        if place.is_file():
            _refuse_to_destroy(place, options)


def _refuse_to_destroy(existing: Path, options: Collection[str]) -> None:
    another = f"name another file with {_named(options)}"
    with existing.open("rb") as file:
        begin = file.read(len(_OUR_PAGE))
    if begin.startswith(_BINARY):
        raise OutputError(f"{existing} is an ELF or BTF file and is not replaced; {another}")
    for name, value in click.get_current_context().params.items():
        if name not in options:
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, Path):
                    _refuse_input(existing, one, begin, another)


def _refuse_input(existing: Path, given: Path, begin: bytes, another: str) -> None:
    """Raise ``OutputError`` where the command reads ``existing`` as ``given``, or in a folder that is given."""
    if given.is_file() and existing.samefile(given):
        raise OutputError(f"{existing} is an input of this command and is not replaced; {another}")
    inside = given.is_dir() and existing.resolve().is_relative_to(given.resolve())
    if inside and existing.suffix not in _REPLACED_IN_A_TREE and begin != _OUR_PAGE:
        raise OutputError(f"{existing} belongs to {given}, which is not modified; {another}")


# What the terminal can show.

NARROWEST, USUAL = 40, 80


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text is shown: ``columns`` wide, with ``colour`` and block characters (``blocks``) or without."""

    columns: int = USUAL
    colour: bool = False
    blocks: bool = False


def screen(destination: Path | None) -> Screen:
    """The terminal that standard output is, if it is one; a file gets 80 columns of plain text."""
    if destination is not None:
        return Screen()
    terminal = sys.stdout.isatty()
    # Whether the locale says that the terminal shows UTF-8.
    names = (os.environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next((name for name in names if name), "").lower()
    blocks = terminal and "utf" in locale and os.environ.get("TERM", "dumb") != "dumb"
    return Screen(_columns(USUAL), wants_colour(os.environ, terminal), blocks)


def text_columns(destination: Path | None) -> int:
    """How wide sentences and tables may be: as the terminal is, or for a file or a pipe as is good to read."""
    from linesmith.analyzer.report.prose import WIDTH

    return _columns(WIDTH) if destination is None else WIDTH


def _columns(usual: int) -> int:
    """Those of the terminal that standard output is, or that the user wants (``COLUMNS``); else ``usual``."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return max(NARROWEST, shutil.get_terminal_size((usual, 24)).columns) if known else usual


def wants_colour(environment: Mapping[str, str], terminal: bool) -> bool:
    """``NO_COLOR`` comes before ``FORCE_COLOR``, both before what the terminal is. Source: no-color.org."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and environment.get("TERM", "dumb") != "dumb"


# How loud it is.

_LOUDNESS = "linesmith.loudness"
_START = "subprocess.Popen"


class Loudness(IntEnum):
    """How much is printed: results and errors only, remarks too, every child command and what took how long."""

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
    """Print a sentence on the work, unless that is unwanted; names in it may come from files and are made visible."""
    say(f"linesmith: {sentence}")


def say(line: str) -> None:
    """The same for a line that is not headed by the name of the program."""
    if not quiet():
        click.echo(visible(line), err=True)


def loudness_options() -> tuple[click.Option, ...]:
    """``-v`` and ``-q``, for every command."""

    def louder(context: click.Context, _: click.Parameter, given: bool) -> None:
        if given and not context.resilient_parsing and _is_first(context, Loudness.VERBOSE):
            clock = _Clock()
            sys.addaudithook(clock.hear)
            context.call_on_close(clock.end)

    def quieter(context: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            _is_first(context, Loudness.QUIET)

    verbose = click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=louder,
        help="Print the commands that run, and the time taken.",
    )
    quiet_ = click.Option(
        ["-q", "--quiet"], is_flag=True, expose_value=False, callback=quieter, help="Print only the result and errors."
    )
    return verbose, quiet_


def _is_first(context: click.Context, loudness: Loudness) -> bool:
    """Whether this is the first time that it is asked for."""
    before = context.meta.get(_LOUDNESS)
    if before not in (None, loudness):
        raise click.UsageError("-v and -q contradict each other; give one of them", context)
    context.meta[_LOUDNESS] = loudness
    return before is None


class _Clock:
    """Tells of every process that is started, and in the end of the time that it all took."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit hook of the interpreter: it hears whatever module starts a process. See sys.addaudithook()."""
        if event == _START:
            words: list[str | bytes | os.PathLike[str]] = arguments[1]  # type: ignore[assignment]
            with suppress(OSError, ValueError):
                self._say(f"runs {shlex.join(map(os.fsdecode, words))}")

    def end(self) -> None:
        """The time since the beginning, and the processor time here and in children that have ended."""
        used = os.times()
        children = used.children_user + used.children_system
        self._say(f"done; processor time {used.user + used.system:.2f} s here, {children:.2f} s in child processes")

    def _say(self, what: str) -> None:
        click.echo(visible(f"linesmith: {time.monotonic() - self._begin:8.3f} s: {what}".replace("\n", " ")), err=True)


# Who waits.

CLEAR_LINE = "\r\x1b[K"
_NUMBER, _DONE = re.compile(r"\d+"), re.compile(r"\b(\d+) of (\d+)\b")
# Seconds for which nobody wonders what a command does.
_PATIENCE = 30.0
# Seconds after which what is left can be estimated.
_LEAST_KNOWN = 3.0


def tell_who_waits(progress: str) -> None:
    """A line on standard error where that is a terminal; names in it come from files and cannot steer it."""
    if sys.stderr.isatty() and not quiet():
        click.echo(visible(progress), err=True)


class StepReporter:
    """Tells of steps of long work; where standard error is no terminal, of each once, and only when it takes long.

    That is ``patience`` seconds after this was made, where the work begins.
    """

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._begun = time.monotonic()
        self._told: dict[str, float] = {}

    def __call__(self, step: str) -> None:
        """Say ``step``; the same with other numbers in it shows how far it is, which no log needs."""
        kind, now = _NUMBER.sub("", step), time.monotonic()
        if sys.stderr.isatty():
            begun = self._told.setdefault(kind, now)
            known = _DONE.search(step) if now - begun > _LEAST_KNOWN else None
            done, total = map(int, known.groups()) if known else (0, 0)
            tell_who_waits(f"{step}, {(now - begun) * (total - done) / done:.0f} s left" if done else step)
        elif kind not in self._told and now - self._begun >= self._patience:
            self._told[kind] = now
            remark(step)


@contextmanager
def scratch(prefix: str, refusal: str) -> Iterator[Path]:
    """A temporary directory for the block; raises ``OutputError`` that begins with ``refusal`` where none can be."""
    from tempfile import TemporaryDirectory

    try:
        folder = TemporaryDirectory(prefix=prefix)
    except OSError as error:
        raise OutputError(f"{refusal} ({error.strerror}); set TMPDIR to one that can be written") from error
    with folder as name:
        yield Path(name)


@contextmanager
def shown(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Progress for whoever looks; the line is cleared in the end. A log has one line of it, where it takes long."""
    if quiet() or not sys.stderr.isatty():
        steps = StepReporter()
        # Being called at all lets an interrupt end the work.
        yield lambda done, total: steps(f"{doing}: {100 * done // total} % done") if done < total else None
        return
    try:
        yield _PercentLine(doing)
    finally:
        click.echo(CLEAR_LINE, err=True, nl=False)


class _PercentLine:
    """One line that shows the share that is done and the seconds that are left, redrawn once per percent."""

    def __init__(self, doing: str) -> None:
        self.doing = visible(doing)
        self.percent = -1
        self.begun = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total if total else 100
        if percent > self.percent:
            self.percent = percent
            taken = time.monotonic() - self.begun
            left = f", {taken * (total - done) / done:.0f} s left" if done and taken > _LEAST_KNOWN else ""
            click.echo(f"{CLEAR_LINE}{self.doing}: {percent} %{left}", err=True, nl=False)


# Maps of cache lines on the terminal.

# Ground and letter of each level of heat, of the 256 colours; the ground says it on dark and light terminals alike.
_HEAT = ((0, 7), (230, 16), (222, 16), (215, 16), (203, 16), (124, 231))


def drawn_text(groups: Sequence[Sequence[LineMap]], destination: Path | None) -> bytes:
    """The maps as letters and colours, as wide as the terminal or file they go to."""
    from linesmith.analyzer.report.map_text import BLOCKS, PLAIN, group_rows, table

    shown = screen(destination)
    texts = []
    for group in groups:
        rows = group_rows(group, shown.columns, BLOCKS if shown.blocks else PLAIN)
        members = visible(table(group[0], shown.columns))
        texts.append(painted(rows, shown.colour) + (f"\n{members}" if members else ""))
    return "\n".join(texts).encode("utf-8", "backslashreplace")


def painted(rows: Iterable[MapRow], colour: bool) -> str:
    """The rows as text; whatever names hold, only the colours are escape sequences."""

    def cells(text: str, level: int) -> str:
        if not level or not text:
            return text
        ground, letter = _HEAT[level]
        return f"\x1b[38;5;{letter};48;5;{ground}m{text}\x1b[0m"

    lines = ("".join(cells(visible(piece.text), piece.level if colour else 0) for piece in row) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)
