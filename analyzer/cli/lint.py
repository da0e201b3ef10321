# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint``: where layouts lost what somebody gave them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import lint_options, lint_sources

if TYPE_CHECKING:
    from linesmith.analyzer.cli.kernels import Running

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("elves", metavar="[ELF]", type=_FILE, nargs=-1)
@click.option("--base", metavar="OLD", type=_FILE, help="The build before the change.")
@click.option("--head", metavar="NEW", type=_FILE, help="The build with the change; compared with that of --base.")
@click.option("--type", "types", metavar="TYPE", multiple=True, help="Only this record, or those a pattern names.")
@click.option("--tree", metavar="DIR", type=_DIRECTORY, help="The sources; by default the git tree you are in.")
@click.option("--kconfig", metavar="FILE", type=_FILE, help="The .config of the build, for intents that depend on it.")
@click.option(
    "--profile", metavar="PROFILE", type=_FILE, help="Guard what this profile, of the older build, shows hot."
)
@click.option("--access", is_flag=True, help="Follow the code for who touches members (slow when done first).")
@lint_sources.given
@lint_options.judging
@lint_options.machine
@lint_options.telling
def command(
    elves: tuple[Path, ...],
    base: Path | None,
    head: Path | None,
    types: tuple[str, ...],
    tree: Path | None,
    kconfig: Path | None,
    profile: Path | None,
    access: bool,
    sources: lint_sources.Given,
    judging: lint_options.Judging,
    running: Running,
    telling: lint_options.Telling,
) -> int:
    """Tell where layouts break the rules: in one build, or between what was before a change and what is after it.

    The two are builds (--base, --head), revisions of a git tree (--base-ref, --head-ref), or a tree and a --patch.

    `linesmith explain` lists the rules. Exit status 1 tells of violations.
    """
    from linesmith.analyzer.cli import lint_results, linting
    from linesmith.analyzer.cli.lint_profile import profiled

    lint_results.check_destinations(telling)
    if sources.asked_beside(*elves, base, head):
        if profile is not None or access:
            raise click.UsageError("--profile and --access are of builds; give them with --base and --head")
        asking = lint_sources.Asking(tree, kconfig, running.cpus, judging, types)
        result = lint_sources.judged(sources, asking)
    else:
        builds = linting.builds(elves, base, head)
        wanted = linting.configured(linting.wanted(tree, kconfig, judging, types), builds[1])
        wanted = profiled(wanted, builds[0] or builds[1], profile)
        linted = linting.linted(builds, wanted, linting.sides(running, builds, followed=access))
        names = frozenset(linted.new.layouts.names())
        result = lint_sources.Judged(linting.judged(linted, wanted), names, wanted)
    report = lint_results.settled_report(result.report, result.names, result.wanted, judging)
    lint_results.tell(report, telling)
    return lint_results.status(report, judging.fail_on)
