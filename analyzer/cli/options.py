# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and options that commands share: one name and one meaning everywhere."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli.terminal import inert
from linesmith.analyzer.errors import OutputError

_EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

elf = click.argument("elf", metavar="ELF", type=_EXISTING_FILE)

elves = click.argument("elves", metavar="ELF...", nargs=-1, required=True, type=_EXISTING_FILE)

old = click.argument("old", metavar="OLD", type=_EXISTING_FILE)

new = click.argument("new", metavar="NEW", type=_EXISTING_FILE)

profile = click.argument(
    "profile", metavar="PROFILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)

types = click.argument("types", metavar="[TYPE]...", nargs=-1)

type_ = click.option("--type", "type_", metavar="TYPE", help="Only lines that hold this struct or union.")

section = click.option(
    "--section",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Which report of a text that holds several, counted from 1.",
)

format_ = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the result is written.",
)

output = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result to FILE (replaced if it exists) instead of the terminal.",
)


def write(text: str, destination: Path | None) -> None:
    """Put ``text`` where ``-o`` says, or print it; raises ``OutputError`` where that cannot be done."""
    if destination is None:
        click.echo(inert(text), nl=False)
        return
    if _is_binary(destination):
        raise OutputError(f"{destination} is an ELF or BTF file and stays as it is; name another file with -o")
    try:
        destination.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {destination}: {error.strerror}; name another file with -o") from None


def _is_binary(path: Path) -> bool:
    """Whether a slip of ``-o`` would destroy what a command reads."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4).startswith((b"\x7fELF", b"\x9f\xeb", b"\xeb\x9f"))
