# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that write patches: the options of a series and where its files go.

``patch`` writes a series of a struct's declaration. ``encapsulate`` and ``inline`` change a whole tree by a semantic
patch, and have the further options of a ``TreewideRequest`` for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from linesmith.analyzer.base.errors import OutputError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.output import StepReporter, check_destinations, deliver, remark

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from linesmith.analyzer.base.errors import Deadline
    from linesmith.analyzer.cli.options import Checking
    from linesmith.analyzer.model import ConfigurationCheck, PatchSeries
    from linesmith.analyzer.report.prose import Json
    from linesmith.patches.encapsulation.encapsulate import Encapsulated
    from linesmith.patches.inline.inline import Inlined
    from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
    from linesmith.patches.series.mails import PatchFile
    from linesmith.patches.source.tree import Tree


# The parameters of a change of a whole tree that name results.
_RESULTS = ("rules", "output")
# Objects that only include what is changed, compiled next to those that are edited themselves.
_MORE_USERS = 4


class SeriesPlaceType(click.ParamType):  # type: ignore[type-arg]
    """A file, or a folder for many: one that is there, or whose name ends in a slash."""

    name = "place"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> SeriesPlace:  # noqa: ARG002
        """Make a place of what was given; click's signature."""
        if isinstance(value, SeriesPlace):
            return value
        path = Path(str(value))
        return SeriesPlace(path, is_folder=str(value).endswith("/") or path.is_dir())

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Files and folders."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


@dataclass(frozen=True, slots=True)
class SeriesPlace:
    """Where patches go: a file for all of them, or a folder for one file each."""

    path: Path
    is_folder: bool


@dataclass(frozen=True, slots=True)
class Mailing:
    """Where the files of a series go (``None``: standard output)."""

    output: SeriesPlace | None

    @property
    def file(self) -> Path | None:
        """The one file for all, where there is one."""
        return None if self.output is None or self.output.is_folder else self.output.path

    def check(self) -> None:
        """Raise what ``deliver`` would for the place, before the long work is done."""
        if self.file is not None:
            check_destinations((self.file,), ("output",))

    def deliver(self, series: PatchSeries, tree: Path, deadline: Deadline) -> None:
        """Write the files of the series; what a person has to know of it goes to standard error.

        Raises ``TreeError``, and ``OutputError`` where a file cannot be written.
        """
        from linesmith.patches.series.mails import patch_files

        with deadline.running():
            files = patch_files(series, tree)
        self.write(files)
        tell(series)

    def write(self, files: Sequence[PatchFile]) -> None:
        """Write the files where they are to go; those in a folder are named. Raises ``OutputError``."""
        if self.output is not None and self.output.is_folder:
            write_files(files, self.output.path)
        else:
            deliver(b"\n".join(file.content for file in files), self.file)


def tell(series: PatchSeries) -> None:
    """Say on standard error what a person has to look at: notes and refusals."""
    for sentence in (*series.notes, *map(str, series.refusals)):
        remark(sentence)


def write_files(files: Sequence[PatchFile], folder: Path) -> None:
    """Write the files into ``folder``, made where it is not there, and name them; raises ``OutputError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create {folder}: {error.strerror}; name another directory with -o") from None
    for file in files:
        deliver(file.content, folder / file.name)
        click.echo(visible(str(folder / file.name)))


def _tree(tree: Path, build: Path | None, cflags: str) -> Tree:
    from linesmith.patches.source.tree import Tree

    return Tree(tree, build, cflags)


tree_given = options.gathered("tree", _tree, options.tree, options.build, options.cflags)
series_given = options.gathered(
    "mailing",
    Mailing,
    click.option(
        *("-o", "--output"),
        metavar="FILE|DIR/",
        type=SeriesPlaceType(),
        help="Write to FILE, or as numbered files to DIR, instead of to standard output.",
    ),
)


# A change of a whole tree.


# What became of a request: the ``rules`` of a semantic patch, the ``series``, and what is ``standing`` in its way.
_Made = TypeVar("_Made", "Encapsulated", "Inlined")


@dataclass(frozen=True, slots=True)
class TreewideRequest:
    """What a user asks of such a change; ``rules`` is where the semantic patch goes, a ``dry_run`` makes no more.

    ``deadline`` is for the whole way to the series, and what is found out of it; each configuration that it is compiled
    under has as much time for itself.
    """

    tree: Tree
    deadline: Deadline
    checking: Checking
    rules: Path | None
    format_: str
    mailing: Mailing
    dry_run: bool

    def configurations(self) -> MatrixRequest | None:
        """The configurations to compile under, once it is sure that every result can be written.

        Raises ``OutputError`` or ``TreeError`` where that is not so.
        """
        self.mailing.check()
        if self.rules is not None:
            check_destinations((self.rules,), _RESULTS)
        found = self.checking.configurations(self.tree, "")
        return None if found is None else replace(found, deadlines=self.deadline.anew)

    def checks(self, change: CheckedChange, configurations: MatrixRequest | None) -> list[ConfigurationCheck]:
        """What compilers say of the change under what was asked for, else under what is usual for the tree.

        Every unit that is edited is compiled, and some more that see it where the layout of a record changes.
        """
        from linesmith.patches.matrix.choice import MatrixRequest
        from linesmith.patches.treewide.series import usual_configurations

        edited = sum(one.file.endswith(".c") for one in change.files)
        more = _MORE_USERS if change.record or not edited else 0
        if configurations is None:
            configurations = MatrixRequest(usual_configurations(self.tree, change.file), deadlines=self.deadline.anew)
        if configurations.users == 0:
            configurations = replace(configurations, users=edited + more)
        return [self._checked(change, replace(configurations, names=(name,))) for name in configurations.names]

    def _checked(self, change: CheckedChange, configuration: MatrixRequest) -> ConfigurationCheck:
        """What one configuration says; where it has no layout of the record, at least what becomes of the units."""
        from linesmith.patches.matrix.check import check

        found = check(change, self.tree, configuration, StepReporter())[0]
        if not (change.record and found.failed) or found.unjudged:
            return found
        units = check(replace(change, record="", others=()), self.tree, configuration, StepReporter())[0]
        return found if units.failed else replace(units, remarks=(*units.remarks, found.failed))

    def left_out(self, checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
        """The files that the deadline left out, sorted; raises ``DeadlinePassed`` where nothing was judged in time."""
        late = [one for one in checks if one.unjudged]
        if late and not any(one.records or one.users for one in checks):
            raise self.deadline.error()
        return tuple(sorted({file for one in late for file in one.unjudged}))

    def carry_out(
        self,
        make: Callable[[Path, StepReporter], _Made],
        change_of: Callable[[_Made], CheckedChange],
        confirmed: Callable[[_Made, Sequence[ConfigurationCheck]], _Made],
        shown: Callable[[_Made], tuple[Json, Iterable[str]]],
    ) -> int:
        """Make the change, have it compiled, and write the semantic patch and the patches, or a plan instead.

        The exit status is 1 where obstacles leave no patch, or files were not judged in time. Raises ``OutputError``.
        """
        from linesmith.analyzer.report.changes import treewide
        from linesmith.patches.series.mails import patch_files

        configurations = self.configurations()
        with self.deadline.running():
            made = make(self.tree.root, StepReporter())
        late: tuple[str, ...] = ()
        if not (made.standing or self.dry_run):
            checks = self.checks(change_of(made), configurations)
            late = self.left_out(checks)
            made = confirmed(made, checks)
        if self.rules is not None:
            deliver(made.rules.encode(), self.rules, _RESULTS)
        planned = bool(self.dry_run or made.standing)
        if self.format_ != "json" and not planned:
            self.mailing.deliver(made.series, self.tree.root, self.deadline)
        else:
            with nullcontext() if planned else self.deadline.running():
                files = () if planned else patch_files(made.series, self.tree.root)
            text = treewide(shown(made), made.rules, self.format_, files, () if planned else late)
            deliver(visible(text.decode("utf-8", "surrogateescape")).encode(), self.mailing.file)
        if made.standing:
            remark(f"no patch is written: {made.standing[0]}")
        return int(bool(made.standing or late))


def of_record(form: str, example: str, *tags: str) -> Callable[..., tuple[str, str]]:
    """The callback of a ``TYPE.MEMBER``: its record and member; the record may be named with one of the ``tags``."""

    def split(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
        name = given
        for tag in tags:
            name = name.removeprefix(f"{tag} ")
        record, dot, member = name.partition(".")
        if not (dot and record.isidentifier() and member.isidentifier()):
            raise click.BadParameter(f"{given!r} is not a {form}; write it like {example}")
        return record, member

    return split


treewide_given = options.gathered(
    "request",
    TreewideRequest,
    tree_given,
    options.deadline_given,
    options.matrix_given,
    click.option("--rules", metavar="FILE", type=click.Path(path_type=Path), help="Write the semantic patch to FILE."),
    options.format_,
    series_given,
    click.option("--dry-run", is_flag=True, help="Show the places and the semantic patch, without writing a patch."),
)
