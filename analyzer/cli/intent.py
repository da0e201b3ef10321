# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent``: what the layout of a record is for, taken from a profile or a run of ``tune``, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import IntentError, NothingToSuggest
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.analysis import analyse, hot_command, load, root_of, side
from linesmith.analyzer.cli.options import EXISTING, EXISTING_FILE

if TYPE_CHECKING:
    from linesmith.analyzer.cli.options import MachineOptions
    from linesmith.analyzer.cli.premises import PremiseOptions
    from linesmith.analyzer.model import Finding, Layout, TypeIntent
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.tuner.run.result import Winner


_MOST_FIGURES = 3


@dataclass(frozen=True, slots=True)
class IntentRequest:
    """What is asked: entries from ``origin``, a profile or a run, or a ``check`` of the file with intents."""

    elf: Path
    type_: str | None
    origin: Path | None
    check: bool
    into: Path | None
    evidence: options.EvidenceOptions
    tree: Path | None
    intent: Path | None
    kconfig: Path | None
    output: Path | None

    def require_sense(self) -> None:
        """Raise ``click.UsageError`` for what makes no question."""
        if self.check == (self.origin is not None):
            raise click.UsageError("give one of --from and --check; see `linesmith intent --help`")
        if self.check and (self.type_ or self.into):
            idle = "--into" if self.into else self.type_
            raise click.UsageError(f"--check only compares linesmith.toml with ELF; leave out {idle}")
        if self.origin is not None and self.type_ is None:
            raise click.UsageError("--from needs TYPE, as in `linesmith intent vmlinux inode --from c2c.txt`")
        if self.into and self.output:
            raise click.UsageError("--into and -o both say where entries go; leave out one of them")


_request_given = options.gathered(
    "request",
    IntentRequest,
    options.elf,
    click.argument("type_", metavar="[TYPE]", required=False),
    click.option(
        "--from",
        "origin",
        metavar="PROFILE|RUN",
        type=EXISTING,
        help="Write intents from a profile or from a run of `tune`.",
    ),
    click.option("--check", is_flag=True, help="Check every entry of linesmith.toml against ELF."),
    click.option(
        "--into", metavar="FILE", type=options.NEW_FILE, help="Append to FILE, which is created if it does not exist."
    ),
    options.evidence_given,
    click.option("--tree", metavar="DIR", type=options.DIRECTORY, help="Directory of linesmith.toml, for --check."),
    click.option("--intent", metavar="FILE", type=EXISTING_FILE, help="Intent file, instead of the one in --tree."),
    click.option("--kconfig", metavar="FILE", type=EXISTING_FILE, help=".config to use if ELF has none."),
    options.output,
)


@click.command()
@_request_given
@premises.premises_given
def command(request: IntentRequest, basis: PremiseOptions) -> int:
    """Write the intended layout of TYPE as entries of linesmith.toml, which `linesmith lint` checks.

    --from classifies the hot members of a profile as read-mostly or write-hot, isolates the members that the
    recommended change (or the best variant of a run) separates, and sets a soft size limit. --check compares every
    entry of the file with ELF; exit status 1 means that entries need an update.
    """
    from linesmith.analyzer.intent.entry import add_to, written

    request.require_sense()
    if request.origin is None or request.type_ is None:
        return _check(request, basis.machine)
    if request.origin.is_dir():
        from linesmith.tuner.run.result import winner  # imports scipy, which profiles do without

        shown = _from_run(request.elf, request.type_, winner(request.origin), basis)
    else:
        shown = _from_profile(analyse(request.elf, request.origin, request.evidence, request.type_), basis)
    if request.into is not None:
        add_to(request.into, shown)
    else:
        options.write(written(shown), request.output)
    return 0


# What a profile or a run shows.


def _from_profile(found: Explanation, basis: PremiseOptions) -> TypeIntent:
    """The recommended candidates say what to part; raises ``NothingToSuggest`` where the profile shows no record."""
    from linesmith.analyzer.cli.suggest import offered
    from linesmith.analyzer.intent.entry import Grounds, separated_by

    known = basis.premises(Path(found.reading.identity.path), found.reading)
    known = premises.in_found_caches(known, found)
    layout, lines = _held(found)
    first = (one for answer in offered(found, known, None) for one in answer.candidates[:1])
    taken = [one for one in first if one.recommended and one.before.id == layout.id]
    moves = [move for one in taken for move in one.moves]
    grounds = Grounds(
        layout,
        found.reading.layouts,
        lines,
        Path(found.profile.source).name,
        separated=tuple(
            one for line in lines for each in taken for one in separated_by(each, line.triage.pairs, _of(line))
        ),
        change=_change([move.clause for move in moves]),
        kernel=known.kernel,
        nominal=any(line.nominal for line in found.profile.lines),
    )
    return grounds.entry(largest=max((one.after.size for one in taken), default=0))


def _from_run(elf: Path, type_: str, best: Winner, basis: PremiseOptions) -> TypeIntent:
    """The best variant says what to part; the profile is of the baseline's build."""
    from linesmith.analyzer.intent.entry import Grounds, separated_between
    from linesmith.analyzer.layouts.collection import select

    found = analyse(best.before, best.profile, options.EvidenceOptions(best.section), type_)
    before, lines = _held(found)
    changed, reading = load(best.after), load(elf)
    after, here = select(changed.layouts, (before.title,))[0], select(reading.layouts, (before.title,))[0]
    sides = (before, found.reading.layouts), (after, changed.layouts)
    grounds = Grounds(
        here,
        reading.layouts,
        lines,
        f"{best.profile.name} of the run on {best.title.partition(':')[0]}",
        tuple(one for line in lines for one in separated_between(*sides, line.triage.pairs, _of(line))),
        change=_change(best.moves, _measured(best)),
        kernel=basis.premises(elf, reading).kernel,
        nominal=any(line.nominal for line in found.profile.lines),
    )
    return grounds.entry(largest=after.size)


def _held(found: Explanation) -> tuple[Layout, tuple[Finding, ...]]:
    """The layout of the record that was named, and all lines that are of one; raises ``NothingToSuggest``."""
    lines = [one for one in (*found.findings, *found.colder) if one.objects and one.objects[0].layout is not None]
    named = [one.objects[0].layout for one in lines if one.objects[0].type == found.narrowed_to]
    if not named:
        raise NothingToSuggest(f"{found.profile.source} names no layout of that type; see `{hot_command(found)}`")
    record = named[0] or 0
    return found.reading.layouts.by_id(record), tuple(one for one in lines if one.objects[0].layout == record)


def _of(line: Finding) -> int:
    """The bytes of the lines on which members of the finding meet: pairs of lines where only these meet."""
    from linesmith.analyzer.model import ADJACENT_LINE_BYTES, CACHE_LINE_BYTES, TriageKind

    return ADJACENT_LINE_BYTES if line.triage.kinds[0] is TriageKind.ADJACENT_LINE else CACHE_LINE_BYTES


def _change(moves: Sequence[str], measured: str = "") -> str:
    return f"separated by: {', '.join(moves)}{measured}" if moves else ""


def _measured(best: Winner) -> str:
    """What the run confirmed: ``; measured: exec-storm execs/s, 8 threads: +5.00% (+4.02% to +6.10%)``."""
    from linesmith.analyzer.report.run import interval, scale, signed

    figures = [
        f"{one.benchmark} {one.metric.name}, {scale(one)}: {signed(one.ratio - 1)} ({interval(one)})"
        for one in best.confirmed[:_MOST_FIGURES]
    ]
    more = len(best.confirmed) - len(figures)
    return f"; measured: {', '.join(figures)}{f' and {more} more' if more else ''}" if figures else ""


# The file with intents, held against a build.


def _check(request: IntentRequest, machine: MachineOptions) -> int:
    """The intents in the file, else in the tree, else in the tree around us, held against ELF.

    1 where something is to mend. Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    from linesmith.analyzer.intent.check import configuration_of, read_symbols
    from linesmith.analyzer.intent.reading import FILE_NAME, read_intent
    from linesmith.analyzer.lint.linting import checked
    from linesmith.analyzer.lint.pairs import located
    from linesmith.analyzer.model import Severity
    from linesmith.analyzer.report.lint import render_text

    root = request.tree or root_of(Path.cwd())
    file = request.intent or root / FILE_NAME
    if not file.exists() and not file.is_symlink():
        raise IntentError(f"{file} does not exist; name its directory with --tree, or write one with --from")
    intent = read_intent(file)
    symbols = read_symbols(request.kconfig) if request.kconfig else None
    if symbols is None and any(one.configuration for one in intent.types):
        symbols = configuration_of(request.elf)
    report = checked(intent, str(request.elf), side(machine, load(request.elf)), symbols)
    options.write(render_text(located(report, root)), request.output)
    return int(any(one.severity is not Severity.NOTE for one in report.violations))
