# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith access``: which code touches what."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options


@click.command()
@options.elf
@click.option("--type", "type_", metavar="TYPE", help="Who reads and writes each member of this struct or union.")
@click.option("--member", metavar="MEMBER", help="With --type: this member alone, with all the functions.")
@click.option("--function", metavar="NAME", help="What this function touches, inlined code apart.")
@click.option("--address", metavar="PLACE", help="What this instruction touches: 0xffffffff81001234 or function+0x12.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Name the first N functions of each member only.",
)
@options.format_
@options.output
def command(
    elf: Path,
    type_: str | None,
    member: str | None,
    function: str | None,
    address: str | None,
    limit: int,
    format_: str,
    output: Path | None,
) -> None:
    """Show which members the code of ELF reads and writes, without running it.

    Asked for nothing in particular it tells how many accesses there are, and of how many the type is known.
    """
    from linesmith.analyzer.cli import access_answers as answers
    from linesmith.analyzer.cli.colour import text_columns
    from linesmith.analyzer.cli.settled import is_given

    if member is not None and type_ is None:
        raise click.UsageError("--member is one of a record; add --type TYPE")
    if sum(asked is not None for asked in (type_, function, address)) > 1:
        raise click.UsageError("--type, --function and --address are different questions; ask one at a time")
    if type_ is not None:
        most = limit if member is None or is_given("limit") else None
        text = answers.about_type(elf, type_, member, format_, most, text_columns(output))
    elif function is not None:
        text = answers.about_function(elf, function, format_)
    elif address is not None:
        text = answers.about_address(elf, address, format_)
    else:
        text = answers.about_all(elf, format_)
    options.write_shown(text, format_, output)
