# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith man``: the manual, for those who package linesmith or want to read it in a pager."""

from __future__ import annotations

import os
from pathlib import Path

import click

from linesmith.analyzer.base import durable
from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli.group import LazyGroup
from linesmith.analyzer.errors import OutputError


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the pages into DIR, which is made if it is not there.",
)
def command(output: Path) -> None:
    """Write a man page for each command, of the same text that its --help shows.

    They are for section 1 of the manual, such as /usr/local/share/man/man1. With SOURCE_DATE_EPOCH set, the pages bear
    that date instead of today's.
    """
    from linesmith.analyzer.cli.man_page import pages

    root = click.get_current_context().find_root().command
    made = dict(pages(root, _date())) if isinstance(root, LazyGroup) else {}
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, page in made.items():
            durable.replace(output / name, page.encode())
    except OSError as error:
        raise OutputError(f"cannot write {error.filename}: {error.strerror}; name another folder with -o") from error
    click.echo(visible(f"{output}: {len(made)} pages"))


def _date() -> int:
    """Seconds since 1970. See reproducible-builds.org, SOURCE_DATE_EPOCH."""
    import time

    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(given) if given.isdecimal() else int(time.time())
