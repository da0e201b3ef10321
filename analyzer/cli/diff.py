# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith diff``: what a change did to the layouts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.output import remark, tell_who_waits

if TYPE_CHECKING:
    from linesmith.analyzer.base.errors import Deadline
    from linesmith.analyzer.model import ConfigurationCheck
    from linesmith.patches.source.tree import Tree


_SOURCES = (".h", ".c")
_TEXT = "the text"
_OBSCURE = (
    "the braces of a record do not match, so some records were not found; review the file by hand, or compare two"
    " builds"
)


@click.command()
@click.argument("old", metavar="OLD", type=options.EXISTING_FILE, required=False)
@click.argument("new", metavar="NEW", type=options.EXISTING_FILE, required=False)
@options.types
@click.option(
    "--patch",
    metavar="FILE",
    type=options.EXISTING_OR_STDIN,
    help="List the records that this patch makes grow, instead of comparing two builds; '-' is standard input.",
)
@click.option("--tree", metavar="DIR", type=options.DIRECTORY, help="Source tree of the patch (read-only).")
@options.build
@options.cflags
@options.deadline_given
@options.map_format
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
    """Show what moved, grew, shrank or crossed a cache line between two builds, or which records a patch makes grow.

    TYPE is a name or a pattern (tcp_*). Default: all records. The formats map and svg draw the cache
    lines before and after, and mark the members that moved. Exit status 1 means that there are differences.
    """
    form = options.chosen_format(format_, output)
    if patch is None:
        if old is None or new is None:
            raise click.UsageError("give two builds, OLD and NEW, or --patch and --tree")
        return _builds(old, new, types, form, output)
    if tree is None or old is not None:
        raise click.UsageError("--patch needs --tree, and no builds")
    if form in options.DRAWN:
        raise click.UsageError("--patch has text output only; leave out --format, or compare two builds")
    return _patch(patch, (tree, build, cflags), deadline, form, output)


def _builds(old: Path, new: Path, types: tuple[str, ...], format_: str, output: Path | None) -> int:
    from linesmith.analyzer.cli.analysis import load
    from linesmith.analyzer.layouts.collection import select_both
    from linesmith.analyzer.layouts.diff import changes, paired
    from linesmith.analyzer.report import diff

    before, after = load(old), load(new)
    found = changes(before.layouts, after.layouts, paired(*select_both(before.layouts, after.layouts, types)))
    if format_ in options.DRAWN:
        from linesmith.analyzer.report.map_words import changed_maps  # imports numpy, which text does without

        options.refuse_many(len(found))
        options.write_maps([changed_maps(one, before.layouts, after.layouts) for one in found], format_, output)
        return 1 if found else 0
    text = diff.render_json(found, before.identity, after.identity) if format_ == "json" else diff.render_text(found)
    options.write(text, output)
    return 1 if found else 0


def _patch(
    patch: Path, sources: tuple[Path, Path | None, str], deadline: Deadline, format_: str, output: Path | None
) -> int:
    from linesmith.analyzer.report.changes import render_checks
    from linesmith.patches.source.tree import Tree

    found = checked(patch, Tree(*sources), deadline)
    worse = list(complaints(found))
    text = render_checks(found) if format_ == "json" else "".join(f"{line}\n" for line in worse)
    options.write(text, output)
    if not worse and format_ != "json":
        many = f"none of the {len(found)} records" if len(found) > 1 else "no record"
        remark(f"{many} that the patch changes grows")
    return 1 if worse else 0


def checked(patch: Path, tree: Tree, deadline: Deadline) -> tuple[tuple[str, ConfigurationCheck], ...]:
    """Each record that the patch declares otherwise, by ``file:line``, as the tree's configuration compiles it.

    All of it counts against ``deadline``. Raises ``PatchRefused`` and ``TreeError``, and ``DeadlinePassed`` where the
    patch itself is not read in time.
    """
    from linesmith.analyzer.model import ConfigurationCheck
    from linesmith.patches.matrix.check import check
    from linesmith.patches.matrix.choice import CheckedChange, MatrixRequest
    from linesmith.patches.revisions.mails import mails_of, patched
    from linesmith.patches.source.declaration import redeclared
    from linesmith.patches.source.records import is_obscure

    content = sys.stdin.buffer.read() if str(patch) == "-" else patch.read_bytes()
    with deadline.running():
        versions = patched(tree.root, mails_of("standard input" if str(patch) == "-" else patch.name, content))
        changes = [one for one in versions.changes if one.file.endswith(_SOURCES)]
        found = [(change.file, one) for change in changes for one in redeclared(change)]
        texts = ((one.file, one.before, one.after) for one in changes)
        obscure = [file for file, before, after in texts if before and after and is_obscure(after)]
    for one in versions.remarks:
        remark(one)
    configurations = MatrixRequest(("tree",), deadlines=lambda: deadline)
    changed = [(file, one.line, CheckedChange(versions.changes, one.name, one.title, file)) for file, one in found]
    results = (
        *((f"{file}:{line}", check(change, tree, configurations, tell_who_waits)[0]) for file, line, change in changed),
        *((f"{file}:1", ConfigurationCheck(_TEXT, failed=_OBSCURE, unjudged=(file,))) for file in obscure),
    )
    for one in dict.fromkeys(said for _, result in results for said in result.remarks):
        remark(one)
    return results


def complaints(found: tuple[tuple[str, ConfigurationCheck], ...]) -> Iterator[str]:
    """What is worse than before, a line each, as programs that check patches write it."""
    for place, one in found:
        if one.failed:
            yield f"{place}: ERROR: {one.failed}"
        for record in one.records:
            if record.before and record.after and record.after.size > record.before.size:
                before, after = record.before, record.after
                lines = f", from {before.lines} to {after.lines} lines" if after.lines > before.lines else ""
                held = " with it" if record.holder else ""
                yield f"{place}: WARNING: {record.record} grows{held} from {before.size} to {after.size} bytes{lines}"
