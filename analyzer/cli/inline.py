# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline``: an object that a record points to and allocates by itself becomes a member of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import series_output
from linesmith.analyzer.cli.output import StepReporter

if TYPE_CHECKING:
    from linesmith.analyzer.cli.series_output import TreewideRequest
    from linesmith.analyzer.model import ConfigurationCheck
    from linesmith.patches.inline.inline import Inlined
    from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
    from linesmith.patches.source.tree import Tree


# Objects that only include what is changed, compiled beside those that are edited themselves.
_MORE_USERS = 4


@click.command()
@click.argument(
    "pointer",
    metavar="TYPE.POINTER",
    callback=series_output.of_record("TYPE.POINTER", "vm_area_struct.vm_lock", "struct"),
)
@series_output.treewide_given
def command(pointer: tuple[str, str], request: TreewideRequest) -> int:
    """Embed an object that a record points to in the record, on a cache line of its own.

    A semantic patch (Coccinelle) converts the users. Places that need a decision are listed. The source tree is not
    modified.
    """
    from linesmith.analyzer.report import changes
    from linesmith.patches.inline.inline import confirmed, inlined

    configurations = request.configurations()
    with request.deadline.running():
        made = inlined(*pointer, request.tree.root, StepReporter())
    late: tuple[str, ...] = ()
    if not (made.standing or request.dry_run):
        checks = _checks(made, request, configurations)
        late = request.left_out(checks)
        made = confirmed(made, checks)
    as_json = partial(changes.inline_json, made, unjudged=late)
    plan = partial(changes.inline_plan, made)
    return request.finish(made.study.rules, made.series, as_json, plan, made.standing, late)


def _checks(made: Inlined, request: TreewideRequest, configurations: MatrixRequest | None) -> list[ConfigurationCheck]:
    """What compilers say of the series under what was asked for, else under what is usual for the tree."""
    from linesmith.patches.inline.inline import change_of

    change = change_of(made)
    edited = sum(one.file.endswith(".c") for one in change.files)
    configurations = configurations or request.usual(made.study.pointer.outer.file)
    if configurations.users == 0:
        configurations = replace(configurations, users=edited + _MORE_USERS)
    return [_checked(change, name, request.tree, configurations) for name in configurations.names]


def _checked(change: CheckedChange, name: str, tree: Tree, configurations: MatrixRequest) -> ConfigurationCheck:
    """What one configuration says; where it has no layout of the record, at least what becomes of the units."""
    from linesmith.patches.matrix.check import check

    one = replace(configurations, names=(name,))
    found = check(change, tree, one, StepReporter())[0]
    if not found.failed or found.unjudged:
        return found
    units = check(replace(change, record="", others=()), tree, one, StepReporter())[0]
    return found if units.failed else replace(units, remarks=(*units.remarks, found.failed))
