# SPDX-License-Identifier: GPL-2.0-or-later
"""What compilers say of the series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.model import ConfigurationCheck, FileChange, Refusal, RefusalCode, SeriesStep
from linesmith.patches.encapsulation.encapsulate import Encapsulated
from linesmith.patches.matrix import Change, names, paragraphs
from linesmith.patches.paragraph import paragraph
from linesmith.patches.tree import Tree

# Configurations of a kernel that are compiled where the user names none.
_USUAL = ("tree", "arm64")
# Warnings that tell of an accessor that was given another record; they are errors to newer compilers.
_WRONG_TYPE = ("-Wincompatible-pointer-types", "-Wint-conversion")


def change_of(made: Encapsulated) -> Change:
    """All that the series changes, from the tree to its last step; the units in it are compiled first."""
    files: dict[str, FileChange] = {}
    for change in (change for step in made.series.steps for change in step.changes):
        first = files.get(change.file, change)
        files[change.file] = FileChange(change.file, first.before, change.after)
    units = tuple(file for file in files if file.endswith(".c"))
    return Change(tuple(files.values()), file=made.declared.file, title=made.declared.title, prefer=units)


def default_configurations(made: Encapsulated, tree: Tree) -> tuple[str, ...]:
    """The tree's own configuration, and that of another machine where the tree has one."""
    known = names(tree, made.declared.file)
    return tuple(name for name in _USUAL if name in known) or known[:1]


def confirmed(made: Encapsulated, checks: Sequence[ConfigurationCheck]) -> Encapsulated:
    """The series with what was compiled in its last message, and what does not compile.

    Raises ``VerificationFailed`` where no object was compiled at all.
    """
    if not any(check.users for check in checks):
        raise VerificationFailed(_nothing_compiled(checks))
    last = made.series.steps[-1]
    compiled = {user.unit for check in checks for user in check.users}
    changed = {change.file for step in made.series.steps for change in step.changes if change.file.endswith(".c")}
    blocks = [
        last.message.rstrip("\n"),
        paragraphs(checks, made.declared.title),
        _unchecked(sorted(changed - compiled)),
    ]
    message = "\n\n".join(block for block in blocks if block) + "\n"
    notes = tuple(f"under {one.title} nothing was compiled: {one.failed}" for one in checks if one.failed)
    series = replace(made.series, steps=(*made.series.steps[:-1], SeriesStep(message, last.changes)), notes=notes)
    return replace(made, series=series, broken=tuple(_broken(checks)))


def _nothing_compiled(checks: Sequence[ConfigurationCheck]) -> str:
    reasons = (reason for check in checks for reason in (check.failed, *check.left_out) if reason)
    why = next(reasons, "no unit sees the change").rstrip(".")
    remedy = "configure the tree or name another configuration with --on, or see the edits with --dry-run"
    return f"there is no patch, since nothing that it changes could be compiled ({why}); {remedy}"


def _broken(checks: Sequence[ConfigurationCheck]) -> Iterator[Refusal]:
    for check in checks:
        for user in check.users:
            wrong = (one for one in user.warnings if any(kind in one for kind in _WRONG_TYPE))
            said = user.failed or next(wrong, "")
            if said:
                reason = f"it does not compile any more under {check.title}: {said}"
                lift = "run the semantic patch (--rules) and complete it by hand"
                yield Refusal(RefusalCode.NOT_COMPILED, f"{user.unit}:1", reason, lift)


def _unchecked(units: Sequence[str]) -> str:
    return paragraph(f"Not compiled by themselves under what was tried: {', '.join(units)}.") if units else ""
