# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline``: an object that a record points to and allocates by itself becomes a member of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import treewide_options

if TYPE_CHECKING:
    from linesmith.analyzer.cli.treewide_options import Request


def _named(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
    record, dot, member = given.removeprefix("struct ").partition(".")
    if not (dot and record.isidentifier() and member.isidentifier()):
        raise click.BadParameter(f"{given!r} is no TYPE.POINTER; write it like vm_area_struct.vm_lock")
    return record, member


@click.command()
@click.argument("pointer", metavar="TYPE.POINTER", callback=_named)
@click.option("--never-null", is_flag=True, help="The pointer is always set while it is tested: the tests go.")
@treewide_options.given
def command(pointer: tuple[str, str], never_null: bool, request: Request) -> int:
    """Make an object that a record points to a member of the record, on a cache line of its own.

    What can be done by rule is done by a semantic patch; places where a person has to decide are listed. The source
    tree is only read.
    """
    from linesmith.analyzer.cli import inlining
    from linesmith.patches.inline.study import Wanted

    return inlining.run(Wanted(*pointer, request.tree.root, never_null), request)
