# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a pointer's name to a series that compiles, and what is told on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.cli.matrix_options import Checking
from linesmith.analyzer.cli.output import check_destinations, deliver
from linesmith.analyzer.cli.series_output import Mailing
from linesmith.analyzer.cli.waiting import tell_who_waits
from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import ConfigurationCheck
from linesmith.analyzer.report import inline as report
from linesmith.patches.inline.confirm import change_of, confirmed, usual_configurations
from linesmith.patches.inline.inline import Inlined, inlined
from linesmith.patches.inline.study import Wanted
from linesmith.patches.matrix import Asked, Change, check
from linesmith.patches.tree import Tree

# Objects that only include what is changed, compiled beside those that are edited themselves.
_MORE_USERS = 4


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for; ``rules`` is where the semantic patch goes."""

    wanted: Wanted
    tree: Tree
    checking: Checking
    rules: Path | None
    format_: str
    mailing: Mailing


def run(request: Request, *, dry_run: bool) -> None:
    """Make the series and write it, or tell what stands in its way; raises ``EditRefused`` then."""
    rules = request.rules
    request.mailing.check(request.tree.root)
    if rules is not None:
        check_destinations((rules,), ("rules", "output"))
    asked = request.checking.asked(request.tree, "")
    made = inlined(request.wanted, tell_who_waits)
    if not (made.standing or dry_run):
        made = _compiled(made, request.tree, asked)
    if rules is not None:
        deliver(made.study.rules.encode(), rules, ("rules", "output"))
    if made.standing or dry_run:
        deliver(report.render_plan(made, request.format_), request.mailing.file)
    else:
        _deliver(made, request)
    if made.standing:
        raise EditRefused(made.standing[0])


def _compiled(made: Inlined, tree: Tree, asked: Asked | None) -> Inlined:
    """The series with what compilers say under what was asked for, else under what is usual for the tree."""
    change = change_of(made)
    edited = sum(one.file.endswith(".c") for one in change.files)
    asked = asked or Asked(usual_configurations(made, tree))
    asked = replace(asked, users=edited + _MORE_USERS) if asked.users == 0 else asked
    checks = [_checked(change, name, tree, asked) for name in asked.names]
    return confirmed(made, checks)


def _checked(change: Change, name: str, tree: Tree, asked: Asked) -> ConfigurationCheck:
    """What one configuration says; where it has no layout of the record, at least what becomes of the units."""
    one = replace(asked, names=(name,))
    found = check(change, tree, one, tell_who_waits)[0]
    if not found.failed:
        return found
    units = check(replace(change, record="", others=()), tree, one, tell_who_waits)[0]
    return found if units.failed else replace(units, remarks=(*units.remarks, found.failed))


def _deliver(made: Inlined, request: Request) -> None:
    if request.format_ != "json":
        request.mailing.deliver(made.series, request.tree.root)
        return
    files = [(file.name, file.content) for file in request.mailing.files(made.series, request.tree.root)]
    deliver(report.as_json(made, files), request.mailing.file)
