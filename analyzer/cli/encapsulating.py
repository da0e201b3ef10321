# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from a member's name to a series that compiles, and what is told on the way."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from linesmith.analyzer.cli.treewide_options import Request
from linesmith.analyzer.cli.waiting import Steps
from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.report import encapsulate as report
from linesmith.patches.encapsulation.confirm import change_of, confirmed
from linesmith.patches.encapsulation.encapsulate import Encapsulated, Wish, encapsulate
from linesmith.patches.matrix import Asked, check
from linesmith.patches.tree import Tree
from linesmith.patches.treewide import usual_configurations

# Objects that are compiled where only headers are changed.
_USERS_OF_HEADERS = 4


def run(wish: Wish, request: Request) -> None:
    """Make the series and write it; raises ``EditRefused`` where it does not compile, or that cannot be told."""
    asked = request.asked()
    made = encapsulate(wish, request.tree.root, Steps())
    if not request.dry_run:
        made = _compiled(made, request.tree, asked)
    request.deliver_rules(made.rules)
    if request.dry_run or made.broken:
        request.deliver_plan(report.render_plan(made, request.format_))
    else:
        request.deliver(made.series, partial(report.as_json, made))
    if made.broken:
        raise EditRefused(made.broken[0])


def _compiled(made: Encapsulated, tree: Tree, asked: Asked | None) -> Encapsulated:
    """The series with what compilers say under what was asked for, else under the tree's own configuration."""
    change = change_of(made)
    asked = asked or Asked(usual_configurations(tree, made.declared.file))
    asked = replace(asked, users=len(change.prefer) or _USERS_OF_HEADERS) if asked.users == 0 else asked
    return confirmed(made, check(change, tree, asked, Steps()))
