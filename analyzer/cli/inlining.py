# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a pointer's name to a series that compiles, and what is told on the way."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from linesmith.analyzer.cli.treewide_options import Request
from linesmith.analyzer.cli.waiting import Steps
from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import ConfigurationCheck
from linesmith.analyzer.report import inline as report
from linesmith.patches.inline.confirm import change_of, confirmed
from linesmith.patches.inline.inline import Inlined, inlined
from linesmith.patches.inline.study import Wanted
from linesmith.patches.matrix import Asked, Change, check
from linesmith.patches.tree import Tree

# Objects that only include what is changed, compiled beside those that are edited themselves.
_MORE_USERS = 4


def run(wanted: Wanted, request: Request) -> int:
    """Make the series and write it, or tell what stands in its way; raises ``EditRefused`` then.

    The exit status is 1 where not all was judged in time.
    """
    asked = request.asked()
    with request.deadline.running():
        made = inlined(wanted, Steps())
    late: tuple[str, ...] = ()
    if not (made.standing or request.dry_run):
        checks = _checks(made, request, asked)
        late = request.left_out(checks)
        made = confirmed(made, checks)
    in_time = not late
    request.deliver_rules(made.study.rules)
    if made.standing or request.dry_run:
        request.deliver_plan(report.render_plan(made, request.format_))
    elif not request.deliver(made.series, partial(report.as_json, made, unjudged=late)):
        in_time = False
    if made.standing:
        raise EditRefused(made.standing[0])
    return int(not in_time)


def _checks(made: Inlined, request: Request, asked: Asked | None) -> list[ConfigurationCheck]:
    """What compilers say of the series under what was asked for, else under what is usual for the tree."""
    change = change_of(made)
    edited = sum(one.file.endswith(".c") for one in change.files)
    asked = asked or request.usual(made.study.pointer.outer.file)
    asked = replace(asked, users=edited + _MORE_USERS) if asked.users == 0 else asked
    return [_checked(change, name, request.tree, asked) for name in asked.names]


def _checked(change: Change, name: str, tree: Tree, asked: Asked) -> ConfigurationCheck:
    """What one configuration says; where it has no layout of the record, at least what becomes of the units."""
    one = replace(asked, names=(name,))
    found = check(change, tree, one, Steps())[0]
    if not found.failed or found.unjudged:
        return found
    units = check(replace(change, record="", others=()), tree, one, Steps())[0]
    return found if units.failed else replace(units, remarks=(*units.remarks, found.failed))
