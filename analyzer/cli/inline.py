# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline``: an object that a record points to and allocates by itself becomes a member of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.cli import series_output
from linesmith.analyzer.cli.output import Steps
from linesmith.analyzer.cli.series_output import Request
from linesmith.analyzer.model import ConfigurationCheck

if TYPE_CHECKING:
    from linesmith.patches.inline.inline import Inlined
    from linesmith.patches.inline.study import Wanted
    from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
    from linesmith.patches.source.tree import Tree


def _named(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
    record, dot, member = given.removeprefix("struct ").partition(".")
    if not (dot and record.isidentifier() and member.isidentifier()):
        raise click.BadParameter(f"{given!r} is no TYPE.POINTER; write it like vm_area_struct.vm_lock")
    return record, member


@click.command()
@click.argument("pointer", metavar="TYPE.POINTER", callback=_named)
@click.option("--never-null", is_flag=True, help="The pointer is always set while it is tested: the tests go.")
@series_output.treewide_given
def command(pointer: tuple[str, str], never_null: bool, request: Request) -> int:
    """Make an object that a record points to a member of the record, on a cache line of its own.

    What can be done by rule is done by a semantic patch; places where a person has to decide are listed. The source
    tree is only read.
    """
    from linesmith.patches.inline.study import Wanted

    return run(Wanted(*pointer, request.tree.root, never_null), request)


# The way from a pointer's name to a series that compiles, and what is told on the way.

# Objects that only include what is changed, compiled beside those that are edited themselves.
_MORE_USERS = 4


def run(wanted: Wanted, request: Request) -> int:
    """Make the series and write it, or tell what stands in its way; raises ``EditRefused`` then.

    The exit status is 1 where not all was judged in time.
    """
    from linesmith.analyzer.report import changes
    from linesmith.patches.inline.inline import confirmed, inlined

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
        request.deliver_plan(changes.inline_plan(made, request.format_))
    elif not request.deliver(made.series, partial(changes.inline_json, made, unjudged=late)):
        in_time = False
    if made.standing:
        raise EditRefused(made.standing[0])
    return int(not in_time)


def _checks(made: Inlined, request: Request, asked: MatrixRequest | None) -> list[ConfigurationCheck]:
    """What compilers say of the series under what was asked for, else under what is usual for the tree."""
    from linesmith.patches.inline.inline import change_of

    change = change_of(made)
    edited = sum(one.file.endswith(".c") for one in change.files)
    asked = asked or request.usual(made.study.pointer.outer.file)
    asked = replace(asked, users=edited + _MORE_USERS) if asked.users == 0 else asked
    return [_checked(change, name, request.tree, asked) for name in asked.names]


def _checked(change: CheckedChange, name: str, tree: Tree, asked: MatrixRequest) -> ConfigurationCheck:
    """What one configuration says; where it has no layout of the record, at least what becomes of the units."""
    from linesmith.patches.matrix.check import check

    one = replace(asked, names=(name,))
    found = check(change, tree, one, Steps())[0]
    if not found.failed or found.unjudged:
        return found
    units = check(replace(change, record="", others=()), tree, one, Steps())[0]
    return found if units.failed else replace(units, remarks=(*units.remarks, found.failed))
