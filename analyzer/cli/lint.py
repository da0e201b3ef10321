# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint``: where layouts lost what somebody gave them."""

from __future__ import annotations

from pathlib import Path

import click

from linesmith.analyzer.cli import options

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("elf", metavar="[ELF]", type=_FILE, required=False)
@click.option("--base", metavar="OLD", type=_FILE, help="The build before the change.")
@click.option("--head", metavar="NEW", type=_FILE, help="The build with the change; compared with that of --base.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this record, or those a pattern names.")
@options.cpus
@options.page_size
@options.kernel
@options.slabinfo
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the result is written.",
)
@options.output
def command(
    elf: Path | None,
    base: Path | None,
    head: Path | None,
    types: tuple[str, ...],
    cpus: int,
    page_size: str,
    kernel: str | None,
    slabinfo: Path | None,
    format_: str,
    output: Path | None,
) -> int:
    """Tell where layouts break the rules: in one build, or between the builds before and after a change.

    `linesmith explain` lists the rules. Exit status 1 tells of violations.
    """
    from linesmith.analyzer.cli import linting
    from linesmith.analyzer.cli.kernels import Running
    from linesmith.analyzer.lint import lint
    from linesmith.analyzer.report import lint_output

    running = Running(cpus, options.PAGES[page_size], kernel, slabinfo)
    report = lint(linting.linted(linting.builds(elf, base, head), types, running), linting.policy(types))
    options.write(lint_output.RENDERINGS[format_](report), output)
    return 1 if report.violations else 0
