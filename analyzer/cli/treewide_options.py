# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of commands that change a whole tree by a semantic patch, and where their results go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import deadlines, matrix_options, options, series_output

if TYPE_CHECKING:
    from linesmith.analyzer.cli.matrix_options import Checking
    from linesmith.analyzer.cli.series_output import Mailing
    from linesmith.analyzer.model import ConfigurationCheck, PatchSeries
    from linesmith.patches.deadline import Deadline
    from linesmith.patches.matrix import Asked
    from linesmith.patches.tree import Tree

# The parameters that name results.
_RESULTS = ("rules", "output")


@dataclass(frozen=True, slots=True)
class Request:
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

    def asked(self) -> Asked | None:
        """The configurations to compile under, once it is sure that every result can be written.

        Raises ``OutputError`` or ``TreeError`` where that is not so.
        """
        from linesmith.analyzer.cli.output import check_destinations

        self.mailing.check(self.tree.root)
        if self.rules is not None:
            check_destinations((self.rules,), _RESULTS)
        found = self.checking.asked(self.tree, "")
        return None if found is None else replace(found, deadlines=self.deadline.anew)

    def usual(self, file: str) -> Asked:
        """The configurations that a change of ``file`` is compiled under where the user names none."""
        from linesmith.patches.matrix import Asked
        from linesmith.patches.treewide import usual_configurations

        return Asked(usual_configurations(self.tree, file), deadlines=self.deadline.anew)

    def left_out(self, checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
        """The files that the deadline left out, sorted; raises ``DeadlinePassed`` where nothing was judged in time."""
        late = [one for one in checks if one.unjudged]
        if late and not any(one.records or one.users for one in checks):
            raise self.deadline.error()
        return tuple(sorted({file for one in late for file in one.unjudged}))

    def deliver_rules(self, text: str) -> None:
        """Write the semantic patch where it is to go, if anywhere; raises ``OutputError``."""
        from linesmith.analyzer.cli.output import deliver

        if self.rules is not None:
            deliver(text.encode(), self.rules, _RESULTS)

    def deliver_plan(self, plan: bytes) -> None:
        """Write what would be done, in place of patches; raises ``OutputError``."""
        from linesmith.analyzer.base.visible import visible
        from linesmith.analyzer.cli.output import deliver

        deliver(visible(plan.decode("utf-8", "surrogateescape")).encode(), self.mailing.file)

    def deliver(self, series: PatchSeries, as_json: Callable[[list[tuple[str, bytes]]], bytes]) -> bool:
        """Write the patches; as JSON that ``as_json`` makes of their names and texts. Raises ``OutputError``.

        Returns whether all that is to be said of them was found out in time.
        """
        if self.format_ != "json":
            return self.mailing.deliver(series, self.tree.root, self.deadline)
        with self.deadline.running():
            files = self.mailing.files(series, self.tree.root)
        self.deliver_plan(as_json([(file.name, file.content) for file in files]))
        return True


def given(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``request``."""

    @wraps(command)
    def gathered(
        *,
        tree: Path,
        build: Path | None,
        cflags: str,
        deadline: Deadline,
        checking: Checking,
        rules: Path | None,
        format_: str,
        mailing: Mailing,
        dry_run: bool,
        **others: object,
    ) -> int:
        from linesmith.patches.tree import Tree

        request = Request(Tree(tree, build, cflags), deadline, checking, rules, format_, mailing, dry_run)
        return command(request=request, **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


_OPTIONS = (
    options.tree,
    options.build,
    options.cflags,
    deadlines.given,
    matrix_options.given,
    click.option("--rules", metavar="FILE", type=click.Path(path_type=Path), help="Write the semantic patch there."),
    options.format_,
    series_output.given,
    click.option("--dry-run", is_flag=True, help="Show the places and the semantic patch; make no patch."),
)
