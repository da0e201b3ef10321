# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent``: what the layout of a record is for, written down, checked, or taken from what marks it.

Its questions: what a profile or a run of ``tune`` shows of a record, whether the file with intents
still fits a build, how it would have to be for that, and which groups a tree asserts or a build marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import IntentError, NothingToSuggest
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.analysis import analyse, load, root_of, side
from linesmith.analyzer.cli.options import EXISTING, EXISTING_FILE
from linesmith.analyzer.cli.output import deliver, remark
from linesmith.analyzer.model import Intent, Severity, TypeIntent

if TYPE_CHECKING:
    from linesmith.analyzer.base.deadline import Deadline
    from linesmith.analyzer.cli.options import MachineOptions
    from linesmith.analyzer.cli.premises import PremiseOptions
    from linesmith.analyzer.intent.file import Rewrite
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.model import (
        Finding,
        Layout,
    )
    from linesmith.analyzer.sharing.analysis import Explanation
    from linesmith.tuner.run.result import Winner


_MOST_FIGURES = 3

_NEEDS = {
    "from": "--from needs ELF and TYPE, as in `linesmith intent vmlinux inode --from c2c.txt`",
    "check": "--check needs ELF and no TYPE, as in `linesmith intent vmlinux --check`",
    "update": "--update needs ELF and no TYPE, as in `linesmith intent vmlinux --update`",
    "import": "--import names the tree or the ELF file itself; leave out ELF and TYPE",
}


@dataclass(frozen=True, slots=True)
class IntentRequest:
    """What is asked; one of ``origin``, ``check``, ``update`` and ``imported`` is given."""

    elf: Path | None
    type_: str | None
    origin: Path | None
    check: bool
    update: bool
    imported: Path | None
    into: Path | None
    section: int
    snapshot: Path | None
    trust: str | None
    tree: Path | None
    intent: Path | None
    kconfig: Path | None
    base: Path | None
    tighten: bool
    deadline: Deadline
    output: Path | None

    def configuration(self, intent: Intent, elf: Path) -> frozenset[str] | None:
        """The symbols that are set, where any intent asks: as told, or as the kernel in ``elf`` says itself."""
        from linesmith.analyzer.intent.check import configuration_of, read_symbols

        if self.kconfig is not None:
            return read_symbols(self.kconfig)
        return configuration_of(elf) if any(one.configuration for one in intent.types) else None

    def require_sense(self) -> None:
        """Raise ``click.UsageError`` for what makes no question."""
        given = {"from": self.origin, "check": self.check, "update": self.update, "import": self.imported}
        questions = [name for name, one in given.items() if one]
        if len(questions) != 1:
            raise click.UsageError("give one of --from, --check, --update and --import; see `linesmith intent --help`")
        expected = (questions[0] != "import", questions[0] == "from")
        if (self.elf is not None, self.type_ is not None) != expected:
            raise click.UsageError(_NEEDS[questions[0]])
        if (self.base or self.tighten) and not self.update:
            option = "--base" if self.base else "--tighten"
            raise click.UsageError(f"{option} changes what --update does; add --update, or leave {option} out")
        if self.into and self.update and self.intent:
            raise click.UsageError("--into and --intent both name the file to update; leave out one of them")
        if self.into and (self.check or self.output):
            other = "-o" if self.output else "--check"
            raise click.UsageError(f"--into needs output to append, and {other} has none; leave out one of them")


_request_given = options.gathered(
    "request",
    IntentRequest,
    click.argument("elf", metavar="[ELF]", required=False, type=EXISTING_FILE),
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
        "--update",
        is_flag=True,
        help="Show the entries that linesmith.toml needs for ELF to be within its limits; --into writes them.",
    ),
    click.option(
        "--base",
        metavar="OLD",
        type=EXISTING_FILE,
        help="Build before the change, so that --update can follow renames.",
    ),
    click.option("--tighten", is_flag=True, help="Also lower limits to the values of ELF (with --update)."),
    click.option(
        "--import",
        "imported",
        metavar="TREE|ELF",
        type=EXISTING,
        help="Write intents from cacheline groups, asserted in C code or marked in ELF.",
    ),
    click.option(
        "--into", metavar="FILE", type=options.NEW_FILE, help="Append to FILE, which is created if it does not exist."
    ),
    options.section,
    options.snapshot,
    options.other_build,
    click.option(
        "--tree", metavar="DIR", type=options.DIRECTORY, help="Directory of linesmith.toml, for --check and --update."
    ),
    click.option("--intent", metavar="FILE", type=EXISTING_FILE, help="Intent file, instead of the one in --tree."),
    click.option("--kconfig", metavar="FILE", type=EXISTING_FILE, help=".config to use if ELF or TREE has none."),
    options.deadline_given,
    options.output,
)


@click.command()
@_request_given
@premises.premises_given
def command(request: IntentRequest, basis: PremiseOptions) -> int:
    """Write the intended layout of TYPE as entries of linesmith.toml, which `linesmith lint` checks.

    --from classifies the hot members of a profile as read-mostly or write-hot, isolates the members that the
    recommended change (or the best variant of a run) separates, and sets a soft size limit. --check compares every
    entry of the file with ELF; exit status 1 means that entries need an update. --update shows the entries that the
    file needs for ELF to be within its limits. --import reads cacheline groups from assertions in C code or from
    markers in an ELF file.
    """
    request.require_sense()
    if request.imported is not None:
        with request.deadline.running():
            marked = imported(request.imported, request.kconfig)
        return _write(marked, request)
    if request.elf is None:
        return 0  # the options make sense, so this is not met
    if request.check:
        return _check(request.elf, request, basis.machine)
    if request.update:
        return _update(request.elf, request, basis.machine)
    if request.origin is None or request.type_ is None:
        return 0
    if request.origin.is_dir():
        from linesmith.tuner.run.result import winner  # imports scipy, which profiles do without

        shown = _from_run(request.elf, request.type_, winner(request.origin), basis)
    else:
        evidence = request.section, request.type_, None, request.snapshot, request.trust
        found = analyse(request.elf, request.origin, *evidence)
        shown = _from_profile(found, basis)
    return _write((shown,), request)


def _write(types: Sequence[TypeIntent], request: IntentRequest) -> int:
    from linesmith.analyzer.intent.file import add_to, written

    if request.into is not None:
        add_to(request.into, types)
    else:
        options.write(written(Intent(types=tuple(types))), request.output)
    return 0


# What a profile or a run shows.


def _from_profile(found: Explanation, basis: PremiseOptions) -> TypeIntent:
    """The recommended candidates say what to part; raises ``NothingToSuggest`` where the profile shows no record."""
    from linesmith.analyzer.cli.suggest import offered
    from linesmith.analyzer.intent.entry import Grounds, entry, separated_by

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
        change=_change([str(move) for move in moves]),
        kernel=known.kernel,
        nominal=any(line.nominal for line in found.profile.lines),
    )
    return entry(grounds, largest=max((one.after.size for one in taken), default=0))


def _from_run(elf: Path, type_: str, best: Winner, basis: PremiseOptions) -> TypeIntent:
    """The best variant says what to part; the profile is of the baseline's build."""
    from linesmith.analyzer.intent.entry import Grounds, entry, separated_between
    from linesmith.analyzer.layouts.collection import select

    found = analyse(best.before, best.profile, best.section, type_)
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
    return entry(grounds, largest=after.size)


def _held(found: Explanation) -> tuple[Layout, tuple[Finding, ...]]:
    """The layout of the record that was named, and all lines that are of one; raises ``NothingToSuggest``."""
    lines = [one for one in (*found.findings, *found.colder) if one.objects and one.objects[0].layout is not None]
    named = [one.objects[0].layout for one in lines if one.objects[0].type == found.narrowed_to]
    if not named:
        raise NothingToSuggest(f"{found.profile.source} names no layout of that type; see `linesmith hot`")
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
    from linesmith.analyzer.report.figures import interval, scale, signed

    figures = [
        f"{one.benchmark} {one.metric.name}, {scale(one)}: {signed(one.ratio - 1)} ({interval(one)})"
        for one in best.confirmed[:_MOST_FIGURES]
    ]
    more = len(best.confirmed) - len(figures)
    return f"; measured: {', '.join(figures)}{f' and {more} more' if more else ''}" if figures else ""


# The file with intents, held against a build.


def _file_of(root: Path, file: Path | None) -> Path:
    """The ``file`` with intents, else that of the tree at ``root``; raises ``IntentError`` where there is none."""
    from linesmith.analyzer.intent.reading import FILE_NAME

    path = file or root / FILE_NAME
    if not path.exists() and not path.is_symlink():
        raise IntentError(f"{path} does not exist; name its directory with --tree, or write one with --from")
    return path


def _check(elf: Path, request: IntentRequest, machine: MachineOptions) -> int:
    """The intents in the file, else in the tree, else in the tree around us, held against ``elf``.

    1 where something is to mend. Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    from linesmith.analyzer.intent.reading import read_intent
    from linesmith.analyzer.lint.intents import checked
    from linesmith.analyzer.lint.pairs import located
    from linesmith.analyzer.report.lint import render_text

    root = request.tree or root_of(Path.cwd())
    intent = read_intent(_file_of(root, request.intent))
    report = checked(intent, str(elf), side(machine, load(elf)), request.configuration(intent, elf))
    options.write(render_text(located(report, root)), request.output)
    return int(any(one.severity is not Severity.NOTE for one in report.violations))


def _update(elf: Path, request: IntentRequest, machine: MachineOptions) -> int:
    """Show how the file would have to be for ``elf``, with remarks on names and on what is left; write it if asked.

    1 where something is out of date and nothing was written. Raises ``IntentError`` where there are no intents, and
    what reading the files raises.
    """
    from linesmith.analyzer.intent.file import put, rewritten
    from linesmith.analyzer.intent.reading import read_intent
    from linesmith.analyzer.lint.intents import FollowedIntent, followed, stale
    from linesmith.patches.edit.unified import unified_diff

    path = _file_of(request.tree or root_of(Path.cwd()), request.into or request.intent)
    intent = read_intent(path)
    reading = load(elf)
    names = followed(intent, load(request.base).layouts, reading.layouts) if request.base else FollowedIntent(intent)
    symbols = request.configuration(intent, elf)
    limits = stale(names.intent, side(machine, reading), symbols, tightened=request.tighten)
    # What markers say now comes after what was only renamed.
    rewrites = {one.path: one for one in (*names.rewrites, *limits)}
    before = path.read_bytes().decode()
    found = rewritten(before, rewrites.values(), str(path))
    diff = unified_diff(before.encode(), found.text.encode(), path.name).decode()
    gone, by_hand = _gone(names.intent, reading, symbols), _by_hand(found.left, intent, names.intent)
    for sentence in (*names.remarks, *gone, *by_hand):
        remark(sentence)
    click.echo(visible(diff.replace("\r\n", "\n")), nl=False)
    if request.into is not None and diff:
        put(request.into, found.text)
    elif request.output is not None:
        deliver(found.text.encode(), request.output)  # a file of the user, exact to the byte
    return int(bool(diff) and not (request.into or request.output))


def _gone(intent: Intent, reading: Reading, symbols: frozenset[str] | None) -> Iterator[str]:
    """Entries of records, and members in them, that the build does not have."""
    from linesmith.analyzer.intent.check import applies, unknown_members

    for one in filter(applies(symbols), intent.types):
        if not reading.layouts.variants(one.record):
            yield f"{one.place}: {one.record} no longer exists; its entry is unchanged"
        for member in unknown_members(one, reading.layouts):
            yield f"{one.place}: {member.member} of {one.record} does not exist; its name is unchanged"


def _by_hand(left: Sequence[Rewrite], before: Intent, after: Intent) -> Iterator[str]:
    """What a user has to write, and where; the record is called as the file will, ``before`` or ``after`` renames."""
    paths = {one.path for one in left}
    for one in left:
        table, *rest = one.path
        name = (table, *rest[:1], "name" if table == "type" else "type")  # where the file names the record
        place, about = _entry(before if name in paths else after, one)
        value = ", ".join(one.value) if isinstance(one.value, tuple) else one.value
        keys = ".".join(part for part in one.path[1:] if isinstance(part, str))
        yield f"{place}: {keys} of {about} is not updated, because other text would change; set it to {value}"


def _entry(intent: Intent, one: Rewrite) -> tuple[str, str]:
    """Where what it changes stands, and what that is about."""
    table, *rest = one.path
    number = next((part for part in rest if isinstance(part, int)), 0)
    if table == "suppress":
        accepted = intent.suppressions[number]
        return accepted.place, f"what is accepted of {accepted.record}"
    if table == "type":
        return intent.types[number].place, intent.types[number].record
    return intent.path, f"[{table}]"


# Groups that a tree asserts or a build marks.


def imported(place: Path, kconfig: Path | None) -> tuple[TypeIntent, ...]:
    """What the C code of the tree at ``place`` asserts, or what the ELF file there marks.

    Conditions that no symbols alone can say are decided by ``kconfig``, or else by the ``.config`` of the tree. Raises
    ``IntentError`` where there is nothing, and what reading an ELF file raises.
    """
    from linesmith.analyzer.intent.assertions import asserted_in, asserted_intents
    from linesmith.analyzer.intent.check import read_symbols

    if place.is_dir():
        file = kconfig or place / ".config"
        found = asserted_intents(asserted_in(place, read_symbols(file) if file.is_file() else None))
    else:
        found = tuple(_marked(load(place).layouts))
    if not found:
        what = "no CACHELINE_ASSERT_GROUP_MEMBER()" if place.is_dir() else "no __cacheline_group_begin__ marker"
        raise IntentError(f"{place} has {what}; Linux has them since 6.8")
    return found


def _marked(layouts: Layouts) -> Iterator[TypeIntent]:
    """One intent for each record with markers, by name; of layouts of one name the one most used."""
    from linesmith.analyzer.layouts.placement import GROUP_BEGIN
    from linesmith.analyzer.lint.intents import MARKED, marker_groups

    marked = {one.name for one in layouts if one.name and any(it.name.startswith(GROUP_BEGIN) for it in one.members)}
    for name in sorted(marked):
        layout = layouts.variants(name)[0]
        groups = tuple(marker_groups(layout, layouts))
        if groups:
            place = f" in {layout.place}" if layout.file else ""  # BTF tells none
            yield TypeIntent(name, f"{MARKED}{place}", groups=groups)
