# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent``: what the layout of a record is for, written down, checked, or taken from what marks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.analysis import Running, load
from linesmith.analyzer.cli.linting import root_of, side
from linesmith.analyzer.cli.output import deliver, remark
from linesmith.analyzer.cli.premises import Given
from linesmith.analyzer.model import Intent, LintReport, Severity, TypeIntent

if TYPE_CHECKING:
    from linesmith.analyzer.base.deadline import Deadline
    from linesmith.analyzer.layouts.collection import Layouts


# The options of ``linesmith intent``, gathered: which of its questions is asked, and where answers go.

_PATH = click.Path(exists=True, path_type=Path)
_READ = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_NEEDS = {
    "from": "--from needs ELF and TYPE, as in `linesmith intent vmlinux inode --from c2c.txt`",
    "check": "--check needs ELF and no TYPE, as in `linesmith intent vmlinux --check`",
    "update": "--update needs ELF and no TYPE, as in `linesmith intent vmlinux --update`",
    "import": "--import names the tree or the ELF file itself; leave out ELF and TYPE",
}


@dataclass(frozen=True, slots=True)
class Asked:
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

    def require_sense(self) -> None:
        """Raise ``click.UsageError`` for what makes no question."""
        given = {"from": self.origin, "check": self.check, "update": self.update, "import": self.imported}
        asked = [name for name, one in given.items() if one]
        if len(asked) != 1:
            raise click.UsageError("say one of --from, --check, --update and --import; see `linesmith intent --help`")
        expected = (asked[0] != "import", asked[0] == "from")
        if (self.elf is not None, self.type_ is not None) != expected:
            raise click.UsageError(_NEEDS[asked[0]])
        if (self.base or self.tighten) and not self.update:
            option = "--base" if self.base else "--tighten"
            raise click.UsageError(f"{option} says how --update goes about it; add --update, or leave {option} out")
        if self.into and self.update and self.intent:
            raise click.UsageError("--into and --intent both name the file to update; leave out one of them")
        if self.into and (self.check or self.output):
            other = "-o" if self.output else "--check"
            raise click.UsageError(f"--into adds what is written to a file, {other} does not; leave out one of them")


_OPTIONS = (
    click.argument("elf", metavar="[ELF]", required=False, type=_READ),
    click.argument("type_", metavar="[TYPE]", required=False),
    click.option(
        "--from", "origin", metavar="PROFILE|RUN", type=_PATH, help="Write what a profile, or a run of `tune`, shows."
    ),
    click.option("--check", is_flag=True, help="Hold every entry of linesmith.toml against ELF."),
    click.option(
        "--update",
        is_flag=True,
        help="Show what linesmith.toml has to say for ELF to keep its limits; --into writes it.",
    ),
    click.option(
        "--base", metavar="OLD", type=_READ, help="The build before the change: --update follows what it renamed."
    ),
    click.option("--tighten", is_flag=True, help="Let --update lower limits to what ELF has, too."),
    click.option(
        "--import",
        "imported",
        metavar="TREE|ELF",
        type=_PATH,
        help="Write the groups that C code asserts or ELF marks.",
    ),
    click.option(
        "--into",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Add what is written at the end of FILE, which keeps all it has; it is made where it is not there.",
    ),
    options.section,
    options.snapshot,
    options.other_build,
    click.option("--tree", metavar="DIR", type=_DIRECTORY, help="Where linesmith.toml is, for --check and --update."),
    click.option("--intent", metavar="FILE", type=_READ, help="The file to check or update instead of that in --tree."),
    click.option("--kconfig", metavar="FILE", type=_READ, help="The .config, where ELF or TREE has none of its own."),
    options.deadline_given,
    options.output,
)


def given(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``asked``."""

    @wraps(command)
    def gathered(
        *,
        elf: Path | None,
        type_: str | None,
        origin: Path | None,
        check: bool,
        update: bool,
        imported: Path | None,
        into: Path | None,
        section: int,
        snapshot: Path | None,
        trust: str | None,
        tree: Path | None,
        intent: Path | None,
        kconfig: Path | None,
        base: Path | None,
        tighten: bool,
        deadline: Deadline,
        output: Path | None,
        **others: object,
    ) -> int:
        read = section, snapshot, trust, tree, intent, kconfig, base, tighten, deadline
        return command(asked=Asked(elf, type_, origin, check, update, imported, into, *read, output), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


@click.command()
@given
@premises.premises_given
def command(asked: Asked, given: premises.Given) -> int:
    """Say what the layout of TYPE in ELF is for, as linesmith.toml has it and `linesmith lint` guards it.

    --from calls the members that a profile shows hot, read-mostly or write-hot, has those isolated that the
    recommended change parts (or the best variant of a run), and sets a soft limit to the size. --check holds every
    entry of the file against ELF: exit status 1 tells of entries to mend. --update shows what the file has to say for
    ELF to keep its limits. --import takes groups from assertions in C code, or from the markers in an ELF file.
    """
    asked.require_sense()
    return answered(asked, given)


# Answers the questions of ``linesmith intent``, and puts the answers where they are wanted.


def answered(asked: Asked, given: Given) -> int:
    """The exit status; raises what the questions raise."""
    if asked.imported is not None:
        with asked.deadline.running():
            found = imported(asked.imported, asked.kconfig)
        return _write(found, asked)
    if asked.elf is None:
        return 0  # the options make sense, so this is not met
    if asked.check:
        return _check(asked.elf, asked, given)
    if asked.update:
        return _update(asked.elf, asked, given)
    return _write_observed(asked.elf, asked, given)


def _write_observed(elf: Path, asked: Asked, given: Given) -> int:
    from linesmith.analyzer.cli.intent_writing import Origin, intended

    if asked.origin is None or asked.type_ is None:
        return 0
    origin = Origin(asked.origin, asked.section, asked.snapshot, asked.trust)
    return _write((intended(elf, asked.type_, origin, given),), asked)


def _update(elf: Path, asked: Asked, given: Given) -> int:
    """1 where something is out of date and nothing was written."""
    from linesmith.analyzer.cli.intent_writing import Wish, updated
    from linesmith.analyzer.intent.file import put

    running = Running(given.cpus, given.page_bytes, given.release, given.slabinfo)
    wish = Wish(asked.tree, asked.into or asked.intent, asked.kconfig, asked.base, asked.tighten)
    found = updated(elf, wish, running)
    for sentence in found.remarks:
        remark(sentence)
    click.echo(visible(found.diff.replace("\r\n", "\n")), nl=False)
    if asked.into is not None and found.diff:
        put(asked.into, found.text)
    elif asked.output is not None:
        deliver(found.text.encode(), asked.output)  # a file of the user, exact to the byte
    return int(bool(found.diff) and not (asked.into or asked.output))


def _check(elf: Path, asked: Asked, given: Given) -> int:
    from linesmith.analyzer.report.lint import render_text

    running = Running(given.cpus, given.page_bytes, given.release, given.slabinfo)
    report = check(elf, asked.tree, asked.intent, asked.kconfig, running)
    options.write(render_text(report), asked.output)
    return int(any(one.severity is not Severity.NOTE for one in report.violations))


def _write(types: Sequence[TypeIntent], asked: Asked) -> int:
    from linesmith.analyzer.intent.file import add_to, written

    if asked.into is not None:
        add_to(asked.into, types)
    else:
        options.write(written(Intent(types=tuple(types))), asked.output)
    return 0


# The way from an intent file and a build to what is wrong with either.


def check(elf: Path, tree: Path | None, file: Path | None, kconfig: Path | None, running: Running) -> LintReport:
    """The intents in ``file``, else in the tree, else in the tree around us, held against ``elf``.

    Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    from linesmith.analyzer.intent.reading import read_intent
    from linesmith.analyzer.lint.intents import checked
    from linesmith.analyzer.lint.pairs import located

    root = tree or root_of(Path.cwd())
    intent = read_intent(file_of(root, file))
    report = checked(intent, str(elf), side(running, load(elf)), build_configuration(intent, elf, kconfig))
    return located(report, root)


def file_of(root: Path, file: Path | None) -> Path:
    """The ``file`` with intents, else that of the tree at ``root``; raises ``IntentError`` where there is none."""
    from linesmith.analyzer.intent.reading import FILE_NAME

    path = file or root / FILE_NAME
    if not path.exists() and not path.is_symlink():
        raise IntentError(f"there is no {path}; name the folder that has it with --tree, or write one with --from")
    return path


def build_configuration(intent: Intent, elf: Path, kconfig: Path | None) -> frozenset[str] | None:
    """The symbols that are set, where any intent asks: as told, or as the kernel in ``elf`` says itself."""
    from linesmith.analyzer.intent.check import configuration_of, read_symbols

    if kconfig is not None:
        return read_symbols(kconfig)
    return configuration_of(elf) if any(one.configuration for one in intent.types) else None


# Groups that a tree asserts or a build marks, as intents.


def imported(place: Path, kconfig: Path | None = None) -> tuple[TypeIntent, ...]:
    """What the C code of the tree at ``place`` asserts, or what the ELF file there marks.

    Conditions that no symbols alone can say are decided by ``kconfig``, or else by the ``.config`` of the tree. Raises
    ``IntentError`` where there is nothing, and what reading an ELF file raises.
    """
    from linesmith.analyzer.intent.assertions import asserted_in, asserted_intents

    if place.is_dir():
        found = asserted_intents(asserted_in(place, _configuration(place, kconfig)))
    else:
        found = tuple(_marked(load(place).layouts))
    if not found:
        what = "no CACHELINE_ASSERT_GROUP_MEMBER()" if place.is_dir() else "no __cacheline_group_begin__ marker"
        raise IntentError(f"{place} has {what}; Linux has them since 6.8")
    return found


def _configuration(tree: Path, kconfig: Path | None) -> frozenset[str] | None:
    from linesmith.analyzer.intent.check import read_symbols

    file = kconfig or tree / ".config"
    return read_symbols(file) if file.is_file() else None


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
