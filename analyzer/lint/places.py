# SPDX-License-Identifier: GPL-2.0-or-later
"""Places of a compiler turned into places of a tree, so that they can be shown beside the source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from posixpath import normpath

from linesmith.analyzer.model import LintReport, Violation


def located(report: LintReport, tree: Path) -> LintReport:
    """The report with each file named as it is in ``tree``; what is not there keeps the name it had.

    A build may have been made elsewhere, so the longest end of the path that names a file of the tree counts.
    """
    names = {one.file: _inside(one.file, tree) for one in _all(report) if one.file}

    def moved(one: Violation) -> Violation:
        return replace(one, file=names[one.file]) if one.file else one

    return replace(
        report,
        violations=tuple(sorted(map(moved, report.violations), key=lambda one: one.order)),
        accepted=tuple(
            sorted(
                (replace(one, violation=moved(one.violation)) for one in report.accepted),
                key=lambda one: one.violation.order,
            )
        ),
    )


def _all(report: LintReport) -> tuple[Violation, ...]:
    return (*report.violations, *(one.violation for one in report.accepted))


def _inside(file: str, tree: Path) -> str:
    parts = [part for part in normpath(file).split("/") if part not in ("", "..", ".")]
    for first in range(len(parts)):
        end = "/".join(parts[first:])
        if _is_file(tree / end):
            return end
    return file


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
