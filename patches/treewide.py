# SPDX-License-Identifier: GPL-2.0-or-later
"""What the series that change a whole tree have in common: all they change, where they are compiled, what breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linesmith.analyzer.model import ConfigurationCheck, FileChange, PatchSeries, Refusal, RefusalCode
from linesmith.patches.matrix import names
from linesmith.patches.tree import Tree

# Configurations of a kernel that are compiled where the user names none.
_USUAL = ("tree", "arm64")
# Warnings that tell of code that was given another record; they are errors to newer compilers.
_WRONG_TYPE = ("-Wincompatible-pointer-types", "-Wint-conversion")


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
            said = user.failed or next(wrong, "")
            if said:
                reason = f"it does not compile any more under {check.title}: {said}"
                lift = "run the semantic patch (--rules) and complete it by hand"
                yield Refusal(RefusalCode.NOT_COMPILED, f"{user.unit}:1", reason, lift)


def notes(checks: Sequence[ConfigurationCheck]) -> tuple[str, ...]:
    """What is to be said of configurations under which nothing was compiled, or not all in time."""
    return (
        *(f"under {one.title} nothing was compiled: {one.failed}" for one in checks if one.failed),
        *(f"under {one.title}: {one.left_out[-1]}" for one in checks if one.unjudged and not one.failed),
    )
