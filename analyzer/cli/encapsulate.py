# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith encapsulate``: users of a member go through an accessor, in all of a tree."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import series_output
from linesmith.analyzer.cli.output import StepReporter

if TYPE_CHECKING:
    from linesmith.analyzer.cli.series_output import TreewideRequest


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
def command(member: tuple[str, str], accessor: str, request: TreewideRequest) -> int:
    """Hide a member behind an accessor, and convert its users on all architectures.

    A semantic patch (Coccinelle) converts the users, and the result is compiled. Places that it does not convert are
    listed. The source tree is not modified.
    """
    from linesmith.analyzer.report import changes
    from linesmith.patches.encapsulation.encapsulate import change_of, confirmed, encapsulate

    configurations = request.configurations()
    with request.deadline.running():
        made = encapsulate(*member, accessor, request.tree.root, StepReporter())
    late: tuple[str, ...] = ()
    if not request.dry_run:
        checks = request.checks(change_of(made), configurations)
        late = request.left_out(checks)
        made = confirmed(made, checks)
    as_json = partial(changes.encapsulate_json, made, unjudged=late)
    return request.finish(made.rules, made.series, as_json, partial(changes.encapsulate_plan, made), made.broken, late)
