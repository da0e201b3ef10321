# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``linesmith lint``, gathered by what they are about: the machine, the judging, the telling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from linesmith.analyzer.cli.kernels import Running

FORMATS = ("text", "json", "sarif", "github", "gitlab", "markdown")
RESULTS = ("output", "also", "write_baseline")
NEVER = "never"

_READ = click.Path(exists=True, dir_okay=False, path_type=Path)
_WRITTEN = click.Path(dir_okay=False, path_type=Path)

_INTENT = click.option(
    "--intent",
    metavar="FILE",
    type=_READ,
    help="What is wanted of records; by default linesmith.toml in --tree, or in the root of the git tree you are in.",
)
_SELECT = click.option("--select", metavar="RULE", multiple=True, help="Turn this rule on: a name, a pattern, or all.")
_IGNORE = click.option("--ignore", metavar="RULE", multiple=True, help="Turn this rule off, the same way.")
_BASELINE = click.option("--baseline", metavar="FILE", type=_READ, help="Violations that are known and do not count.")
_WRITE_BASELINE = click.option(
    "--write-baseline", metavar="FILE", type=_WRITTEN, help="Write such a file of all violations that there are."
)
_FAIL_ON = click.option(
    "--fail-on",
    type=click.Choice(["note", "warning", "error", NEVER]),
    default="warning",
    show_default=True,
    help="The least severity that makes the exit status 1.",
)
_FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How the result is written.",
)


class _Form(click.ParamType[tuple[str, Path]]):
    """``FORMAT=FILE``."""

    name = "FORMAT=FILE"

    def convert(
        self, value: str | tuple[str, Path], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """The format and the file; fails on any other text."""
        if isinstance(value, tuple):
            return value
        form, _, file = value.partition("=")
        if form not in FORMATS or not file:
            words = f"{value} is no FORMAT=FILE; write it like sarif=lint.sarif, with one of {', '.join(FORMATS)}"
            self.fail(words, param, ctx)
        return form, Path(file)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """The formats with their sign, behind it files."""
        from click.shell_completion import CompletionItem

        form, joined, file = incomplete.partition("=")
        if joined:
            return [CompletionItem(file, type="file")]
        return [CompletionItem(f"{one}=") for one in FORMATS if one.startswith(form)]


_ALSO = click.option(
    "--also", metavar="FORMAT=FILE", type=_Form(), multiple=True, help="Write the result to FILE in this form, too."
)


@dataclass(frozen=True, slots=True)
class Judging:
    """What counts: where intents are, which rules are on, what is known already, what makes the lint fail."""

    intent: Path | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    baseline: Path | None
    write_baseline: Path | None
    fail_on: str


@dataclass(frozen=True, slots=True)
class Telling:
    """In which forms the result is written, and where to."""

    format_: str
    output: Path | None
    also: tuple[tuple[str, Path], ...]


def judging(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``judging``."""

    @wraps(command)
    def gathered(
        *,
        intent: Path | None,
        select: tuple[str, ...],
        ignore: tuple[str, ...],
        baseline: Path | None,
        write_baseline: Path | None,
        fail_on: str,
        **others: object,
    ) -> int:
        given = Judging(intent, select, ignore, baseline, write_baseline, fail_on)
        return command(judging=given, **others)

    for option in (_FAIL_ON, _WRITE_BASELINE, _BASELINE, _IGNORE, _SELECT, _INTENT):
        gathered = option(gathered)
    return gathered


def telling(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``telling``."""

    @wraps(command)
    def gathered(*, format_: str, output: Path | None, also: tuple[tuple[str, Path], ...], **others: object) -> int:
        return command(telling=Telling(format_, output, also), **others)

    for option in (options.output, _ALSO, _FORMAT):
        gathered = option(gathered)
    return gathered


def machine(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``running``."""

    @wraps(command)
    def gathered(*, cpus: int, page_size: str, kernel: str | None, slabinfo: Path | None, **others: object) -> int:
        from linesmith.analyzer.cli.kernels import Running

        running: Running = Running(cpus, options.PAGES[page_size], kernel, slabinfo)
        return command(running=running, **others)

    for option in (options.slabinfo, options.kernel, options.page_size, options.cpus):
        gathered = option(gathered)
    return gathered
