# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith encapsulate``: users of a member go through an accessor, in all of a tree."""

from __future__ import annotations

from functools import partial

import click

from linesmith.analyzer.cli import series_output

# Words that C11 reserves (6.4.1), but for those that begin with an underscore and a capital, which nobody takes.
_KEYWORDS = frozenset((
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
))  # fmt: skip


def _identifier(_context: click.Context, _option: click.Parameter, given: str) -> str:
    if not (given.isidentifier() and given.isascii()):
        raise click.BadParameter(f"{given!r} is not a C identifier; use letters, digits and _")
    if given in _KEYWORDS:
        raise click.BadParameter(f"{given!r} is a C keyword; choose another name")
    return given


@click.command()
@click.argument(
    "member",
    metavar="TYPE.MEMBER",
    callback=series_output.of_record("TYPE.MEMBER", "address_space.i_mmap", "struct", "union"),
)
@click.option("--accessor", metavar="NAME", required=True, callback=_identifier, help="Name of the accessor.")
@series_output.treewide_given
def command(member: tuple[str, str], accessor: str, request: series_output.TreewideRequest) -> int:
    """Hide a member behind an accessor, and convert its users on all architectures.

    A semantic patch (Coccinelle) converts the users, and the result is compiled. Places that it does not convert are
    listed. The source tree is not modified.
    """
    from linesmith.analyzer.report.changes import encapsulated
    from linesmith.patches.encapsulation.encapsulate import change_of, confirmed, encapsulate

    return request.carry_out(partial(encapsulate, *member, accessor), change_of, confirmed, encapsulated)
