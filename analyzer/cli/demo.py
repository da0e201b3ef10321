# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith demo``: the whole pipeline on a small program that comes with the package."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from linesmith.analyzer.errors import OutputError

RECORDERS = ("perf", "qemu-user")


@click.command()
def command() -> None:
    """Walk a small C program from profile to patch, and measure both versions here.

    The profile is recorded with perf or qemu-user where they work. Takes about 15 seconds; everything happens in a
    temporary directory.
    """
    from linesmith.analyzer.cli.analysis import analyse
    from linesmith.analyzer.cli.chapter import show
    from linesmith.analyzer.demo.cpus import here
    from linesmith.analyzer.demo.recording import gather
    from linesmith.analyzer.demo.walkthrough import chapters, open_workshop
    from linesmith.plugins.registry import recorder

    with _scratch() as directory:
        workshop = open_workshop(Path(directory))
        recorders = [recorder(name) for name in RECORDERS]
        evidence = gather(workshop.before, workshop.directory, recorders, here())
        found = analyse(workshop.before / "bench", evidence.path, 1, top=1)
        for chapter in chapters(workshop, evidence.about, found.reading, found.profile, found.findings):
            show(chapter)


def _scratch() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="linesmith-demo-")
    except OSError as error:
        message = (
            f"the demo cannot make a temporary directory ({error.strerror}); set TMPDIR to one that can be written"
        )
        raise OutputError(message) from error
