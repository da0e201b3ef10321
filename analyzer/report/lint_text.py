# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations as a compiler or checkpatch tells them: one line each, with the place in front."""

from __future__ import annotations

from collections.abc import Iterator

from linesmith.analyzer.model import LintReport, Severity, Violation

_BREAKS = str.maketrans({"\n": " ", "\r": " ", "\t": " "})


def render_text(report: LintReport) -> str:
    """Each violation, an advice below the first that it is for, remarks, and a line that says what was looked at."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: LintReport) -> Iterator[str]:
    said: set[str] = set()
    for violation in report.violations:
        where = place(violation) or one_line(report.head)
        yield f"{where}: {violation.severity.upper()}: {sentence(violation)} [{violation.rule}]"
        if violation.advice and violation.advice not in said:
            said.add(violation.advice)
            yield f"    {one_line(violation.advice)}"
    for remark in report.remarks:
        yield f"note: {one_line(remark)}"
    yield summary(report)


def one_line(text: str) -> str:
    """``text`` without breaks, for names and reasons come from files that anyone may have written."""
    return text.translate(_BREAKS)


def place(violation: Violation) -> str:
    """``file:line``, or what is known of it; nothing where the debug information has no file (BTF)."""
    if violation.file is None:
        return ""
    return one_line(violation.file if violation.line is None else f"{violation.file}:{violation.line}")


def sentence(violation: Violation) -> str:
    """The violation with what it is about in front: ``struct inode: i_lock …``."""
    where = f"(with {violation.configuration})" if violation.configuration else ""
    return one_line(
        " ".join(part for part in (f"{violation.type}:", violation.member, violation.message, where) if part)
    )


def summary(report: LintReport) -> str:
    """How many violations there are, and what was looked at; no name of the input is in it."""
    counts = [_count(report, severity) for severity in reversed(Severity)]
    said = ", ".join(filter(None, counts)) or "no violations"
    more = f"; {len(report.accepted):,} accepted" if report.accepted else ""
    return f"{said} in {looked_at(report)}{more}"


def looked_at(report: LintReport) -> str:
    """``12,345 records, 120 changed, 14 watched``."""
    compared = f"{report.compared:,} record{'s' * (report.compared != 1)}"
    changed = f", {report.changed:,} changed" if report.base else ""
    return f"{compared}{changed}, {report.watched:,} watched"


def _count(report: LintReport, severity: Severity) -> str:
    count = sum(one.severity is severity for one in report.violations)
    return f"{count:,} {severity}{'s' * (count != 1)}" if count else ""
