# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith diff``: what a change did to the layouts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import deadlines, map_output, options

if TYPE_CHECKING:
    from linesmith.patches.deadline import Deadline

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("old", metavar="OLD", type=_FILE, required=False)
@click.argument("new", metavar="NEW", type=_FILE, required=False)
@options.types
@click.option(
    "--patch",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Say which records this patch makes grow, instead of comparing two builds; '-' is standard input.",
)
@click.option("--tree", metavar="DIR", type=_DIRECTORY, help="The sources that the patch is for; only read.")
@options.build
@options.cflags
@deadlines.given
@map_output.format_
@options.output
def command(
    old: Path | None,
    new: Path | None,
    types: tuple[str, ...],
    patch: Path | None,
    tree: Path | None,
    build: Path | None,
    cflags: str,
    deadline: Deadline,
    format_: str | None,
    output: Path | None,
) -> int:
    """Show what moved, grew, shrank or crossed a cache line between two builds, or what a patch makes grow.

    TYPE is a name or a pattern (tcp_*); without any, all records are compared. As map, svg, png or
    markdown, the cache lines are drawn before and after, with what moved marked. Exit status 1 tells of differences.
    """
    wanted = map_output.chosen_format(format_, output)
    if patch is None:
        if old is None or new is None:
            raise click.UsageError("give two builds, OLD and NEW, or --patch and --tree")
        return _builds(old, new, types, wanted, output)
    if tree is None or old is not None:
        raise click.UsageError("--patch goes with --tree, and without builds")
    if wanted in map_output.DRAWN:
        raise click.UsageError("a patch's growth is told in words; leave out --format, or compare two builds")
    return _patch(patch, (tree, build, cflags), deadline, wanted, output)


def _builds(old: Path, new: Path, types: tuple[str, ...], format_: str, output: Path | None) -> int:
    from linesmith.analyzer.cli.loading import load
    from linesmith.analyzer.diff import changes, paired
    from linesmith.analyzer.report import diff_json, diff_text
    from linesmith.analyzer.selection import select_both

    before, after = load(old), load(new)
    found = changes(before.layouts, after.layouts, paired(*select_both(before.layouts, after.layouts, types)))
    if format_ in map_output.DRAWN:
        from linesmith.analyzer.report.line_maps import changed_maps  # imports numpy, which text does without

        map_output.refuse_many(len(found))
        map_output.write_maps([changed_maps(one, before.layouts, after.layouts) for one in found], format_, output)
        return 1 if found else 0
    if format_ == "json":
        text = diff_json.render_json(found, before.identity, after.identity)
    else:
        text = diff_text.render_text(found)
    options.write(text, output)
    return 1 if found else 0


def _patch(
    patch: Path, sources: tuple[Path, Path | None, str], deadline: Deadline, format_: str, output: Path | None
) -> int:
    from linesmith.analyzer.cli.patched import checked, complaints
    from linesmith.analyzer.cli.remarks import remark
    from linesmith.analyzer.report.patch import render_checks
    from linesmith.patches.tree import Tree

    found = checked(patch, Tree(*sources), deadline)
    worse = list(complaints(found))
    text = render_checks(found) if format_ == "json" else "".join(f"{line}\n" for line in worse)
    options.write(text, output)
    if not worse and format_ != "json":
        many = f"none of the {len(found)} records" if len(found) > 1 else "no record"
        remark(f"{many} that the patch declares otherwise grows")
    return 1 if worse else 0
