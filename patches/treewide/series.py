# SPDX-License-Identifier: GPL-2.0-or-later
"""What the series that change a whole tree have in common: their messages, where they are compiled, what breaks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.errors import VerificationFailed
from linesmith.analyzer.base.text import paragraph
from linesmith.analyzer.model import ConfigurationCheck, FileChange, PatchSeries, Refusal, RefusalCode, SeriesStep
from linesmith.patches.matrix.check import names
from linesmith.patches.message.paragraphs import style
from linesmith.patches.source.tree import Tree

# Configurations of a kernel that are compiled where the user names none.
_USUAL = ("tree", "arm64")
# Warnings about code that is passed another record; they are errors to newer compilers.
_WRONG_TYPE = ("-Wincompatible-pointer-types", "-Wint-conversion")


def message(tree: Path, file: str, subject: str, texts: Iterable[str]) -> str:
    """The message of a step: the ``subject`` as the tree has it for ``file``, then each text as a paragraph."""
    return "\n\n".join((style(tree, file).subject(subject), *map(paragraph, texts))) + "\n"


def confirmed_series(
    series: PatchSeries, checks: Sequence[ConfigurationCheck], blocks: Iterable[str], below: str
) -> PatchSeries:
    """The series with ``blocks``, what compilers say of it, in its last message, and details ``below`` that.

    Its notes are the configurations under which nothing was compiled, or not all in time. Raises
    ``VerificationFailed`` where no object was compiled at all.
    """
    if not any(check.users for check in checks):
        reasons = (f"under {one.title}: {text}" for one in checks for text in (one.failed, *one.left_out) if text)
        reason = next(reasons, "no unit sees the change").rstrip(".")
        remedy = "configure the tree or name another configuration with --on, or see the edits with --dry-run"
        raise VerificationFailed(f"no patch written: nothing that it changes could be compiled ({reason}); {remedy}")
    last = series.steps[-1]
    text = "\n\n".join(block for block in (last.message.rstrip("\n"), *blocks) if block) + "\n"
    notes = (
        *(f"under {one.title} nothing was compiled: {one.failed}" for one in checks if one.failed),
        *(f"under {one.title}: {one.left_out[-1]}" for one in checks if one.unjudged and not one.failed),
    )
    return replace(series, steps=(*series.steps[:-1], SeriesStep(text, last.changes, below)), notes=notes)


def from_first_to_last(series: PatchSeries) -> tuple[FileChange, ...]:
    """Every file that the series changes, once: as it is in the tree and as it is after the last step."""
    files: dict[str, FileChange] = {}
    for change in (change for step in series.steps for change in step.changes):
        first = files.get(change.file, change)
        files[change.file] = FileChange(change.file, first.before, change.after)
    return tuple(files.values())


def usual_configurations(tree: Tree, file: str) -> tuple[str, ...]:
    """The tree's own configuration of ``file``, and that of another machine where the tree has one."""
    known = names(tree, file)
    return tuple(name for name in _USUAL if name in known) or known[:1]


def never_compiled(series: PatchSeries, checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
    """The changed units that no configuration compiles, sorted."""
    compiled = {user.unit for check in checks for user in check.users}
    changed = {change.file for step in series.steps for change in step.changes if change.file.endswith(".c")}
    return tuple(sorted(changed - compiled))


def broken(checks: Sequence[ConfigurationCheck]) -> Iterator[Refusal]:
    """A refusal for every unit that does not compile any more, or is given another type than it takes."""
    for check in checks:
        for user in check.users:
            wrong = (one for one in user.warnings if any(kind in one for kind in _WRONG_TYPE))
            complaint = user.failed or next(wrong, "")
            if complaint:
                reason = f"it does not compile any more under {check.title}: {complaint}"
                lift = "run the semantic patch (--rules) and complete it by hand"
                yield Refusal(RefusalCode.NOT_COMPILED, f"{user.unit}:1", reason, lift)
