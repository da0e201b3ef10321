# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations as a compiler or checkpatch tells them: one line each, with the place in front."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import LintReport, Violation


def render_text(report: LintReport) -> str:
    """Each violation with its advice below, and a line that says what was looked at."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: LintReport) -> Iterator[str]:
    for violation in report.violations:
        yield f"{place(violation)}: {violation.severity.upper()}: {sentence(violation)} [{violation.rule}]"
        if violation.advice:
            yield f"    {violation.advice}"
    yield summary(report)


def place(violation: Violation) -> str:
    """``file:line``, or what is known of it; the type where the debug information has no file."""
    if violation.file is None:
        return violation.type
    return violation.file if violation.line is None else f"{violation.file}:{violation.line}"


def sentence(violation: Violation) -> str:
    """The violation with what it is about in front: ``struct inode: i_lock …``."""
    return " ".join(part for part in (f"{violation.type}:", violation.member, violation.message) if part)


def summary(report: LintReport) -> str:
    """What was found, in how many records: the last line of the text."""
    count, looked = len(report.violations), f"{report.compared:,} record{'s' * (report.compared != 1)}"
    return f"{count or 'no'} violation{'s' * (count != 1)} in {looked}, {report.watched:,} of them watched"
