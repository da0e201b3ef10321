# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith encapsulate``: users of a member go through an accessor, in all of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import treewide_options

if TYPE_CHECKING:
    from linesmith.analyzer.cli.treewide_options import Request


def _named(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
    record, dot, member = given.removeprefix("struct ").removeprefix("union ").partition(".")
    if not (dot and record.isidentifier() and member.isidentifier()):
        raise click.BadParameter(f"{given!r} is no TYPE.MEMBER; write it like address_space.i_mmap")
    return record, member


def _identifier(_context: click.Context, _option: click.Parameter, given: str) -> str:
    if not (given.isidentifier() and given.isascii()):
        raise click.BadParameter(f"{given!r} is no name that C takes; write one of letters, digits and _")
    return given


@click.command()
@click.argument("member", metavar="TYPE.MEMBER", callback=_named)
@click.option("--accessor", metavar="NAME", required=True, callback=_identifier, help="What the accessor is called.")
@treewide_options.given
def command(member: tuple[str, str], accessor: str, request: Request) -> None:
    """Hide a member behind an accessor: its users on all architectures call it from then on.

    What can be done by rule is done by a semantic patch, and compiled; places that are not touched are listed. The
    source tree is only read.
    """
    from linesmith.analyzer.cli import encapsulating
    from linesmith.patches.encapsulation.encapsulate import Wish

    encapsulating.run(Wish(*member, accessor), request)
