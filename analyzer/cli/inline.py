# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline``: an object that a record points to and allocates by itself becomes a member of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import series_output
from linesmith.analyzer.cli.output import StepReporter

if TYPE_CHECKING:
    from linesmith.analyzer.cli.series_output import TreewideRequest


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
    from linesmith.patches.inline.inline import change_of, confirmed, inlined

    configurations = request.configurations()
    with request.deadline.running():
        made = inlined(*pointer, request.tree.root, StepReporter())
    late: tuple[str, ...] = ()
    if not (made.standing or request.dry_run):
        checks = request.checks(change_of(made), configurations)
        late = request.left_out(checks)
        made = confirmed(made, checks)
    as_json = partial(changes.inline_json, made, unjudged=late)
    plan = partial(changes.inline_plan, made)
    return request.finish(made.study.rules, made.series, as_json, plan, made.standing, late)
