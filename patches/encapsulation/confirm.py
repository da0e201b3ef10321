# SPDX-License-Identifier: GPL-2.0-or-later
"""What compilers say of the series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.model import ConfigurationCheck, SeriesStep
from linesmith.patches.encapsulation.encapsulate import Encapsulated
from linesmith.patches.matrix import Change, paragraphs
from linesmith.patches.paragraph import paragraph
from linesmith.patches.treewide import broken, from_first_to_last, never_compiled, notes


def change_of(made: Encapsulated) -> Change:
    """All that the series changes, from the tree to its last step; the units in it are compiled first."""
    files = from_first_to_last(made.series)
    units = tuple(one.file for one in files if one.file.endswith(".c"))
    return Change(files, file=made.declared.file, title=made.declared.title, prefer=units)


def confirmed(made: Encapsulated, checks: Sequence[ConfigurationCheck]) -> Encapsulated:
    """The series with what was compiled in its last message, and what does not compile.

    Raises ``VerificationFailed`` where no object was compiled at all.
    """
    if not any(check.users for check in checks):
        raise VerificationFailed(_nothing_compiled(checks))
    last = made.series.steps[-1]
    blocks = [
        last.message.rstrip("\n"),
        paragraphs(checks, made.declared.title),
        _unchecked(never_compiled(made.series, checks)),
    ]
    message = "\n\n".join(block for block in blocks if block) + "\n"
    steps = (*made.series.steps[:-1], SeriesStep(message, last.changes))
    series = replace(made.series, steps=steps, notes=notes(checks))
    return replace(made, series=series, broken=tuple(broken(checks)))


def _nothing_compiled(checks: Sequence[ConfigurationCheck]) -> str:
    reasons = (reason for check in checks for reason in (check.failed, *check.left_out) if reason)
    why = next(reasons, "no unit sees the change").rstrip(".")
    remedy = "configure the tree or name another configuration with --on, or see the edits with --dry-run"
    return f"there is no patch, since nothing that it changes could be compiled ({why}); {remedy}"


def _unchecked(units: Sequence[str]) -> str:
    return paragraph(f"Not compiled by themselves under what was tried: {', '.join(units)}.") if units else ""
