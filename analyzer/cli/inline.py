# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith inline``: an object that a record points to and allocates by itself becomes a member of it."""

from __future__ import annotations

from functools import partial

import click

from linesmith.analyzer.cli import series_output


@click.command()
@click.argument(
    "pointer",
    metavar="TYPE.POINTER",
    callback=series_output.of_record("TYPE.POINTER", "vm_area_struct.vm_lock", "struct"),
)
@series_output.treewide_given
def command(pointer: tuple[str, str], request: series_output.TreewideRequest) -> int:
    """Embed an object that a record points to in the record, on a cache line of its own.

    A semantic patch (Coccinelle) converts the users. Places that need a decision are listed. The source tree is not
    modified.
    """
    from linesmith.analyzer.report import changes
    from linesmith.patches.inline.inline import change_of, confirmed, inlined

    return request.carry_out(partial(inlined, *pointer), change_of, confirmed, changes.inlined)
