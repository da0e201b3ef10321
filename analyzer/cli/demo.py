# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith demo``: the whole pipeline on a small program that comes with the package."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli.output import scratch

if TYPE_CHECKING:
    from linesmith.analyzer.demo.walkthrough import Chapter


RECORDERS = ("perf", "qemu-user")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
def command() -> None:
    """Take a small C program from profile to patch, and measure both versions on this machine.

    The profile is recorded with perf or qemu-user if available. This takes about 10 seconds, in a temporary directory.
    """
    from linesmith.analyzer.cli.analysis import analyse, trace_to_replay
    from linesmith.analyzer.cli.suggest import offered, suggested
    from linesmith.analyzer.demo.walkthrough import chapters, gather, here, open_workshop
    from linesmith.plugins.registry import recorder
    from linesmith.tuner.constraints.freedom import Premises

    with scratch("linesmith-demo-", "the demo cannot create a temporary directory") as directory:
        workshop = open_workshop(directory)
        recorders = [recorder(name) for name in RECORDERS]
        evidence = gather(workshop.before, workshop.directory, recorders, here())
        found = analyse(workshop.before / "bench", evidence.path, top=1)
        trace = trace_to_replay(found, evidence.path, None)
        answer = suggested(found, Premises(), offered(found, Premises(), trace), trace)
        profile = replace(found.profile, source=evidence.path.name)
        answer = replace(
            answer, elf=replace(answer.elf, path="bench"), source=profile.source, trace=trace.name if trace else ""
        )
        for chapter in chapters(workshop, evidence.about, profile, answer):
            show(chapter)


def show(chapter: Chapter) -> None:
    """Print a chapter to standard output; rich drops styles where it is no terminal or NO_COLOR is set."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    if chapter.title:
        console.print(Text(chapter.title, style="bold"))
        console.print(Text("=" * len(chapter.title), style="bold"))
    for line in chapter.text.rstrip("\n").split("\n"):
        console.print(Text(line, style=_DIFF_STYLES.get(line[:1], "") if chapter.is_diff else ""))
    console.print()
