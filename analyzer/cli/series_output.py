# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of commands that write a series of patches, and where its files go."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.errors import OutputError

if TYPE_CHECKING:
    from linesmith.analyzer.model import PatchSeries
    from linesmith.patches.series.files import PatchFile

_ADDRESS = re.compile(r"https?://\S+")


def _checked(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for one in given:
        if not _ADDRESS.fullmatch(one):
            raise click.BadParameter(f"{one!r} is no address of the web; give it whole, with https://")
    return given


_LINK = click.option(
    "--link", "links", metavar="URL", multiple=True, callback=_checked, help="A Link: line of the messages; repeatable."
)
_FIXES = click.option("--fixes", metavar="COMMIT", multiple=True, help="A Fixes: line of the last patch; repeatable.")
_OUTPUT = click.option(
    *("-o", "--output"),
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write numbered patch files there; else all go to standard output.",
)


@dataclass(frozen=True, slots=True)
class Mailing:
    """What a user says of a series: its trailers, and the folder for its files (``None``: standard output)."""

    links: tuple[str, ...]
    fixes: tuple[str, ...]
    folder: Path | None

    def files(self, series: PatchSeries, tree: Path) -> tuple[PatchFile, ...]:
        """The files of the series, with trailers and recipients; raises ``TreeError``."""
        from linesmith.patches.series.files import patch_files
        from linesmith.patches.series.recipients import recipients
        from linesmith.patches.series.trailers import trailers

        return patch_files(series, tree, trailers(tree, self.links, self.fixes), recipients(tree, series.steps))

    def deliver(self, series: PatchSeries, tree: Path) -> None:
        """Write the files of the series; what a person has to know of it goes to standard error.

        Raises ``TreeError``, and ``OutputError`` where a file cannot be written.
        """
        files = self.files(series, tree)
        if self.folder is None:
            click.echo(b"\n".join(file.content for file in files), nl=False)
        else:
            write_files(files, self.folder)
        for told in (*series.notes, *(str(one) for one in series.refusals)):
            click.echo(f"linesmith: {told}", err=True)


def write_files(files: tuple[PatchFile, ...], folder: Path) -> None:
    """Write the files into ``folder``, made where it is not there, and name them; raises ``OutputError``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            (folder / file.name).write_bytes(file.content)
    except OSError as error:
        place = error.filename or folder
        raise OutputError(f"cannot write {place}: {error.strerror}; name another folder with -o") from None
    for file in files:
        click.echo(str(folder / file.name))


def given(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them together as ``mailing``."""

    @wraps(command)
    def gathered(*, links: tuple[str, ...], fixes: tuple[str, ...], output: Path | None, **others: object) -> None:
        command(mailing=Mailing(links, fixes, output), **others)

    for option in (_OUTPUT, _FIXES, _LINK):
        gathered = option(gathered)
    return gathered
