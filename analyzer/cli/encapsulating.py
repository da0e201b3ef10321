# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a member's name to a series that compiles, and what is told on the way."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from linesmith.analyzer.cli.treewide_options import Request
from linesmith.analyzer.cli.waiting import Steps
from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import ConfigurationCheck
from linesmith.analyzer.report import encapsulate as report
from linesmith.patches.encapsulation.confirm import change_of, confirmed
from linesmith.patches.encapsulation.encapsulate import Encapsulated, Wish, encapsulate
from linesmith.patches.matrix import Asked, check

# Objects that are compiled where only headers are changed.
_USERS_OF_HEADERS = 4


def run(wish: Wish, request: Request) -> int:
    """Make the series and write it; the exit status is 1 where not all was judged in time.

    Raises ``EditRefused`` where it does not compile, or that cannot be told.
    """
    asked = request.asked()
    with request.deadline.running():
        made = encapsulate(wish, request.tree.root, Steps())
    late: tuple[str, ...] = ()
    if not request.dry_run:
        checks = _checks(made, request, asked)
        late = request.left_out(checks)
        made = confirmed(made, checks)
    in_time = not late
    request.deliver_rules(made.rules)
    if request.dry_run or made.broken:
        request.deliver_plan(report.render_plan(made, request.format_))
    elif not request.deliver(made.series, partial(report.as_json, made, unjudged=late)):
        in_time = False
    if made.broken:
        raise EditRefused(made.broken[0])
    return int(not in_time)


def _checks(made: Encapsulated, request: Request, asked: Asked | None) -> tuple[ConfigurationCheck, ...]:
    """What compilers say of the series under what was asked for, else under the tree's own configuration."""
    change = change_of(made)
    asked = asked or request.usual(made.declared.file)
    asked = replace(asked, users=len(change.prefer) or _USERS_OF_HEADERS) if asked.users == 0 else asked
    return check(change, request.tree, asked, Steps())
