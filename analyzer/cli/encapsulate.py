# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith encapsulate``: users of a member go through an accessor, in all of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import treewide_options

if TYPE_CHECKING:
    from linesmith.analyzer.cli.treewide_options import Request


# Words that C11 reserves (6.4.1), but for those that begin with an underscore and a capital, which nobody takes.
_KEYWORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
))  # fmt: skip


def _named(_context: click.Context, _option: click.Parameter, given: str) -> tuple[str, str]:
    record, dot, member = given.removeprefix("struct ").removeprefix("union ").partition(".")
    if not (dot and record.isidentifier() and member.isidentifier()):
        raise click.BadParameter(f"{given!r} is no TYPE.MEMBER; write it like address_space.i_mmap")
    return record, member


def _identifier(_context: click.Context, _option: click.Parameter, given: str) -> str:
    if not (given.isidentifier() and given.isascii()):
        raise click.BadParameter(f"{given!r} is no name that C takes; write one of letters, digits and _")
    if given in _KEYWORDS:
        raise click.BadParameter(f"{given!r} is a word of the language C; write another")
    return given


@click.command()
@click.argument("member", metavar="TYPE.MEMBER", callback=_named)
@click.option("--accessor", metavar="NAME", required=True, callback=_identifier, help="What the accessor is called.")
@treewide_options.given
def command(member: tuple[str, str], accessor: str, request: Request) -> int:
    """Hide a member behind an accessor: its users on all architectures call it from then on.

    What can be done by rule is done by a semantic patch, and compiled; places that are not touched are listed. The
    source tree is only read.
    """
    from linesmith.analyzer.cli import encapsulating
    from linesmith.patches.encapsulation.encapsulate import Wish

    return encapsulating.run(Wish(*member, accessor), request)
