# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint``: where layouts lost what somebody gave them.

Options first, gathered by what they are about: the sources, the judging, the forms of the result. Behind the command
comes what is done with its report: violations less what is accepted, written in every form, and the exit status.
``lint_inputs`` makes the report, of builds or of versions of a source tree.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import BaselineError, OutputError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options, output
from linesmith.analyzer.cli.options import EXISTING_FILE, EXISTING_OR_STDIN, NEW_FILE
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from linesmith.analyzer.base.errors import Deadline
    from linesmith.analyzer.cli.lint_inputs import LintSettings
    from linesmith.analyzer.cli.options import MachineOptions
    from linesmith.analyzer.lint.accepted import Baseline
    from linesmith.analyzer.model import LintReport, Suppression


FORMATS = ("text", "json", "sarif", "github", "gitlab", "markdown")
RESULTS = ("output", "also", "write_baseline")
NEVER = "never"


@dataclass(frozen=True, slots=True)
class VersionOptions:
    """The options that name two versions of a source tree, and how to compile them."""

    base_ref: str | None
    head_ref: str | None
    patches: tuple[Path, ...]
    build: Path | None
    cflags: str
    deadline: Deadline
    on: tuple[str, ...]

    def are_given(self, *builds: Path | None) -> bool:
        """Whether versions of sources are to be judged, not ``builds``.

        Raises ``click.UsageError`` for options that do not go together.
        """
        if "" in (self.base_ref, self.head_ref):
            raise click.UsageError("a revision is empty (did a command substitution fail?); name one")
        given = bool(self.base_ref or self.head_ref or self.patches)
        if given and any(builds):
            raise click.UsageError(
                "--base-ref and --patch check sources; ELF, --base and --head check builds; give one kind"
            )
        if self.patches and (self.base_ref or self.head_ref):
            raise click.UsageError("--patch and --base-ref exclude each other; give one of them")
        if self.head_ref and not self.base_ref:
            raise click.UsageError("--head-ref needs a base to compare with; add --base-ref REV")
        if not given and any(map(is_given, ("build", "cflags", "deadline", "on"))):
            raise click.UsageError(
                "--build, --cflags, --deadline and --on apply to sources; add --base-ref REV or --patch FILE"
            )
        return given


_sources_given = options.gathered(
    "sources",
    VersionOptions,
    click.option("--base-ref", metavar="REV", help="Git revision before the change."),
    click.option("--head-ref", metavar="REV", help="Git revision with the change. Default: HEAD with --base-ref."),
    click.option(
        "--patch",
        "patches",
        metavar="FILE",
        type=EXISTING_OR_STDIN,
        multiple=True,
        help="Check this patch to --tree, in git format-patch form; '-' is standard input. Can be repeated.",
    ),
    options.build,
    options.cflags,
    options.deadline_given,
    options.ON,
)


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """What counts: where intents are, which rules are on, what is known already, what makes the lint fail."""

    intent: Path | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    baseline: Path | None
    write_baseline: Path | None
    fail_on: str


_judging_given = options.gathered(
    "judging",
    JudgingOptions,
    click.option(
        "--intent",
        metavar="FILE",
        type=EXISTING_FILE,
        help="Intent file. Default: linesmith.toml in --tree, or in the root of the current git tree.",
    ),
    click.option("--select", metavar="RULE", multiple=True, help="Enable this rule: a name, a pattern, or 'all'."),
    click.option("--ignore", metavar="RULE", multiple=True, help="Disable this rule: a name, a pattern, or 'all'."),
    click.option("--baseline", metavar="FILE", type=EXISTING_FILE, help="File of known violations to ignore."),
    click.option("--write-baseline", metavar="FILE", type=NEW_FILE, help="Write all violations to a baseline file."),
    click.option(
        "--fail-on",
        type=click.Choice(["note", "warning", "error", NEVER]),
        default="warning",
        show_default=True,
        help="Lowest severity that sets exit status 1.",
    ),
)


class FormatAndFile(click.ParamType[tuple[str, Path]]):
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
            words = (
                f"{value} is not of the form FORMAT=FILE; write it like sarif=lint.sarif, with one of"
                f" {', '.join(FORMATS)}"
            )
            self.fail(words, param, ctx)
        return form, Path(file)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """The formats with their sign, behind it files."""
        from click.shell_completion import CompletionItem

        form, joined, file = incomplete.partition("=")
        if joined:
            return [CompletionItem(file, type="file")]
        return [CompletionItem(f"{one}=") for one in FORMATS if one.startswith(form)]


@dataclass(frozen=True, slots=True)
class ReportForms:
    """In which forms the result is written, and where to."""

    format_: str
    output: Path | None
    also: tuple[tuple[str, Path], ...]


_forms_given = options.gathered(
    "forms",
    ReportForms,
    click.option(
        "--format", "format_", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
    ),
    click.option(
        "--also",
        metavar="FORMAT=FILE",
        type=FormatAndFile(),
        multiple=True,
        help="Also write the result to FILE in this format.",
    ),
    options.output,
)


@click.command()
@click.argument("elves", metavar="[ELF]", type=EXISTING_FILE, nargs=-1)
@click.option("--base", metavar="OLD", type=EXISTING_FILE, help="Build before the change.")
@click.option("--head", metavar="NEW", type=EXISTING_FILE, help="Build with the change, to compare with --base.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only records of this name or pattern.")
@click.option(
    "--tree", metavar="DIR", type=options.DIRECTORY, help="Source tree. Default: the git tree of the current directory."
)
@click.option(
    "--kconfig", metavar="FILE", type=EXISTING_FILE, help=".config of the build, for intents that depend on it."
)
@click.option(
    "--profile", metavar="PROFILE", type=EXISTING_FILE, help="Profile of the older build: protect its hot members."
)
@_sources_given
@_judging_given
@options.machine_given
@_forms_given
def command(
    elves: tuple[Path, ...],
    base: Path | None,
    head: Path | None,
    types: tuple[str, ...],
    tree: Path | None,
    kconfig: Path | None,
    profile: Path | None,
    sources: VersionOptions,
    judging: JudgingOptions,
    machine: MachineOptions,
    forms: ReportForms,
) -> int:
    """Check layouts against the rules: in one build, or before and after a change.

    A change is two builds (--base, --head), two git revisions (--base-ref, --head-ref), or a tree and a --patch.

    `linesmith explain` lists the rules. Exit status 1 means violations, or sources that were not judged.
    """
    from linesmith.analyzer.cli import lint_inputs

    written = (forms.output, *(file for _, file in forms.also))
    output.check_destinations([file for file in written if file], RESULTS)
    request = lint_inputs.LintRequest(tree, kconfig, machine, judging, types)
    if sources.are_given(*elves, base, head):
        if profile is not None:
            raise click.UsageError("--profile applies to builds; give it with --base and --head")
        result, settings = lint_inputs.of_sources(sources, request)
    else:
        result, settings = lint_inputs.of_builds(elves, base, head, request, profile)
    report = accepted(result.report, result.names, settings, judging)
    tell(report, forms)
    return status(report, judging.fail_on)


def accepted(report: LintReport, names: Collection[str], settings: LintSettings, judging: JudgingOptions) -> LintReport:
    """The report less what is accepted; ``names`` are those of the build's records.

    With ``--write-baseline`` everything that is not suppressed is written there and so is accepted. Raises
    ``BaselineError`` or ``OutputError``.
    """
    from linesmith.analyzer.lint.accepted import Acceptance, apply_acceptance, read_baseline, written_baseline

    def could_meet(one: Suppression) -> bool:
        """Whether a rule that the suppression names was applied to a record that it names."""
        if settings.types or not any(fnmatchcase(name, one.record) for name in names):
            return False
        return any(fnmatchcase(rule.name, one.rule) and (report.base or not rule.pair) for rule in settings.rules)

    known = _baseline(judging.baseline)
    acceptance = Acceptance(settings.intent.suppressions, datetime.now(UTC).date(), known, could_meet)
    found = apply_acceptance(report, acceptance)
    if judging.write_baseline is None:
        return found
    text = written_baseline(
        (*found.violations, *(one.violation for one in found.accepted if one.by == known.name)), known
    )
    _write_baseline(text, judging.write_baseline)
    baseline = read_baseline(text.encode(), judging.write_baseline.name)
    return apply_acceptance(report, replace(acceptance, baseline=baseline))


def _baseline(file: Path | None) -> Baseline:
    from linesmith.analyzer.lint.accepted import MOST_BYTES, NO_BASELINE, read_baseline

    if file is None:
        return NO_BASELINE
    with file.open("rb") as opened:
        return read_baseline(opened.read(MOST_BYTES + 1), file.name)


def _write_baseline(text: str, file: Path) -> None:
    """Write a baseline, over an older one at most."""
    try:
        if file.exists():
            _baseline(file)
        files.replace_file(file, visible(text).encode())
    except BaselineError:
        raise OutputError(f"{file} exists and is not a baseline, so it is not replaced; name another file") from None
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}; name another file") from None


def tell(report: LintReport, forms: ReportForms) -> None:
    """Write the report in every form that is asked for; raises ``OutputError``."""
    from linesmith.analyzer.report.lint import RENDERINGS

    for form, file in ((forms.format_, forms.output), *forms.also):
        text = visible(RENDERINGS[form](report))
        output.deliver(text.encode("utf-8", "backslashreplace"), file, RESULTS)


def status(report: LintReport, fail_on: str) -> int:
    """1 where a violation is as severe as ``fail_on`` says, or where not all was judged, else 0; 0 for ``never``."""
    from linesmith.analyzer.model import Severity

    if fail_on == NEVER:
        return 0
    least = Severity(fail_on).rank
    return int(bool(report.unjudged) or any(one.severity.rank >= least for one in report.violations))
