# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint``: where layouts lost what somebody gave them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import BaselineError, OutputError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import lint_sources, options, output
from linesmith.analyzer.cli.linting import Wanted
from linesmith.analyzer.model import LintReport, Severity, Suppression

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from linesmith.analyzer.cli.analysis import Running
    from linesmith.analyzer.lint.accepted import Baseline


# The options of ``linesmith lint``, gathered by what they are about: the machine, the judging, the telling.

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
        from linesmith.analyzer.cli.analysis import Running

        running: Running = Running(cpus, options.PAGES[page_size], kernel, slabinfo)
        return command(running=running, **others)

    for option in (options.slabinfo, options.kernel, options.page_size, options.cpus):
        gathered = option(gathered)
    return gathered


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("elves", metavar="[ELF]", type=_FILE, nargs=-1)
@click.option("--base", metavar="OLD", type=_FILE, help="The build before the change.")
@click.option("--head", metavar="NEW", type=_FILE, help="The build with the change; compared with that of --base.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this record, or those a pattern names.")
@click.option("--tree", metavar="DIR", type=_DIRECTORY, help="The sources; by default the git tree you are in.")
@click.option("--kconfig", metavar="FILE", type=_FILE, help="The .config of the build, for intents that depend on it.")
@click.option(
    "--profile", metavar="PROFILE", type=_FILE, help="Guard what this profile, of the older build, shows hot."
)
@click.option("--access", is_flag=True, help="Follow the code for who touches members (slow when done first).")
@lint_sources.given
@judging
@machine
@telling
def command(
    elves: tuple[Path, ...],
    base: Path | None,
    head: Path | None,
    types: tuple[str, ...],
    tree: Path | None,
    kconfig: Path | None,
    profile: Path | None,
    access: bool,
    sources: lint_sources.Given,
    judging: Judging,
    running: Running,
    telling: Telling,
) -> int:
    """Tell where layouts break the rules: in one build, or between what was before a change and what is after it.

    The two are builds (--base, --head), revisions of a git tree (--base-ref, --head-ref), or a tree and a --patch.

    `linesmith explain` lists the rules. Exit status 1 tells of violations.
    """
    from linesmith.analyzer.cli import linting
    from linesmith.analyzer.cli.linting import profiled

    check_destinations(telling)
    if sources.asked_beside(*elves, base, head):
        if profile is not None or access:
            raise click.UsageError("--profile and --access are of builds; give them with --base and --head")
        asking = lint_sources.Asking(tree, kconfig, running.cpus, judging, types)
        result = lint_sources.judged(sources, asking)
    else:
        builds = linting.builds(elves, base, head)
        wanted = linting.configured(linting.wanted(tree, kconfig, judging, types), builds[1])
        wanted = profiled(wanted, builds[0] or builds[1], profile)
        linted = linting.linted(builds, wanted, linting.sides(running, builds, followed=access))
        names = frozenset(linted.new.layouts.names())
        result = lint_sources.Judged(linting.judged(linted, wanted), names, wanted)
    report = settled_report(result.report, result.names, result.wanted, judging)
    tell(report, telling)
    return status(report, judging.fail_on)


# What comes of a lint: violations less what is accepted, the forms they are told in, the exit status.


def check_destinations(telling: Telling) -> None:
    """Raise ``OutputError`` before the work is done where a result could not be written."""
    written = [telling.output, *(file for _, file in telling.also)]
    output.check_destinations([file for file in written if file], RESULTS)


def settled_report(report: LintReport, names: Collection[str], wanted: Wanted, judging: Judging) -> LintReport:
    """The report less what is accepted; ``names`` are those of the build's records.

    With ``--write-baseline`` everything that is not suppressed is written there and so is accepted. Raises
    ``BaselineError`` or ``OutputError``.
    """
    from linesmith.analyzer.lint.accepted import Acceptance, apply_acceptance, read_baseline, written_baseline

    known = _baseline(judging.baseline)
    acceptance = Acceptance(
        wanted.intent.suppressions, datetime.now(UTC).date(), known, partial(_could_meet, report, names, wanted)
    )
    found = apply_acceptance(report, acceptance)
    if judging.write_baseline is None:
        return found
    text = written_baseline(
        (*found.violations, *(one.violation for one in found.accepted if one.by == known.name)), known
    )
    _keep(text, judging.write_baseline)
    kept = read_baseline(text.encode(), judging.write_baseline.name)
    return apply_acceptance(report, replace(acceptance, baseline=kept))


def tell(report: LintReport, telling: Telling) -> None:
    """Write the report in every form that is asked for; raises ``OutputError``."""
    from linesmith.analyzer.report.lint_services import RENDERINGS

    for form, file in ((telling.format_, telling.output), *telling.also):
        text = visible(RENDERINGS[form](report))
        output.deliver(text.encode("utf-8", "backslashreplace"), file, RESULTS)


def status(report: LintReport, fail_on: str) -> int:
    """1 where a violation is as severe as ``fail_on`` says, or where not all was judged, else 0."""
    if fail_on == NEVER:
        return 0
    least = Severity(fail_on).rank
    return int(bool(report.unjudged) or any(one.severity.rank >= least for one in report.violations))


def _baseline(file: Path | None) -> Baseline:
    from linesmith.analyzer.lint.accepted import MOST_BYTES, NO_BASELINE, read_baseline

    if file is None:
        return NO_BASELINE
    with file.open("rb") as opened:
        return read_baseline(opened.read(MOST_BYTES + 1), file.name)


def _keep(text: str, file: Path) -> None:
    """Write a baseline, over an older one at most."""
    try:
        if file.exists():
            _baseline(file)
        files.replace_file(file, visible(text).encode())
    except BaselineError:
        raise OutputError(f"{file} is there and is no baseline, so it stays as it is; name another file") from None
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}; name another file") from None


def _could_meet(report: LintReport, names: Collection[str], wanted: Wanted, one: Suppression) -> bool:
    """Whether the suppression could have met a violation: a rule that it names was applied to a record it names."""
    if wanted.types or not any(fnmatchcase(name, one.record) for name in names):
        return False
    return any(fnmatchcase(rule.name, one.rule) and (report.base or not rule.pair) for rule in wanted.rules)
