# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a member's name to a series that compiles, and what is told on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.cli.matrix_options import Checking
from linesmith.analyzer.cli.output import check_destinations, deliver
from linesmith.analyzer.cli.series_output import Mailing
from linesmith.analyzer.cli.waiting import tell_who_waits
from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.report import encapsulate as report
from linesmith.patches.encapsulation.confirm import change_of, confirmed, default_configurations
from linesmith.patches.encapsulation.encapsulate import Encapsulated, Wish, encapsulate
from linesmith.patches.matrix import Asked, check
from linesmith.patches.tree import Tree

# Objects that are compiled where only headers are changed.
_USERS_OF_HEADERS = 4


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for; ``rules`` is where the semantic patch goes."""

    wish: Wish
    tree: Tree
    checking: Checking
    rules: Path | None
    format_: str
    mailing: Mailing


def run(request: Request, *, dry_run: bool) -> None:
    """Make the series and write it; raises ``EditRefused`` where it does not compile, or that cannot be told."""
    rules = request.rules
    request.mailing.check(request.tree.root)
    if rules is not None:
        check_destinations((rules,), ("rules", "output"))
    asked = request.checking.asked(request.tree, "")
    made = encapsulate(request.wish, request.tree.root, tell_who_waits)
    if not dry_run:
        made = _compiled(made, request.tree, asked)
    if rules is not None:
        deliver(made.rules.encode(), rules, ("rules", "output"))
    if dry_run or made.broken:
        deliver(report.render_plan(made, request.format_), request.mailing.file)
    else:
        _deliver(made, request)
    if made.broken:
        raise EditRefused(made.broken[0])


def _compiled(made: Encapsulated, tree: Tree, asked: Asked | None) -> Encapsulated:
    """The series with what compilers say under what was asked for, else under the tree's own configuration."""
    change = change_of(made)
    asked = asked or Asked(default_configurations(made, tree))
    asked = replace(asked, users=len(change.prefer) or _USERS_OF_HEADERS) if asked.users == 0 else asked
    return confirmed(made, check(change, tree, asked, tell_who_waits))


def _deliver(made: Encapsulated, request: Request) -> None:
    if request.format_ != "json":
        request.mailing.deliver(made.series, request.tree.root)
        return
    files = [(file.name, file.content) for file in request.mailing.files(made.series, request.tree.root)]
    deliver(report.as_json(made, files), request.mailing.file)
