# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith demo``: the whole pipeline on a small program that comes with the package."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from linesmith.analyzer.errors import OutputError


@click.command()
def command() -> None:
    """Walk a small C program from profile to patch, and measure both versions here.

    Takes about 15 seconds. Everything happens in a temporary directory.
    """
    from linesmith.analyzer.cli.analysis import analyse
    from linesmith.analyzer.cli.chapter import show
    from linesmith.analyzer.demo.program import PROFILE
    from linesmith.analyzer.demo.walkthrough import chapters, open_workshop

    with _scratch() as directory:
        workshop = open_workshop(Path(directory))
        found = analyse(workshop.before / "bench", workshop.before / PROFILE, 1)
        for chapter in chapters(workshop, found.reading, found.profile, found.findings):
            show(chapter)


def _scratch() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="linesmith-demo-")
    except OSError as error:
        message = (
            f"the demo cannot make a temporary directory ({error.strerror}); set TMPDIR to one that can be written"
        )
        raise OutputError(message) from error
