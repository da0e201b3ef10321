# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a lint as a comment on a change, found again by its first line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from linesmith.analyzer.model import Accepted, LintReport, Severity, Violation
from linesmith.analyzer.report.lint_text import looked_at, place, summary
from linesmith.analyzer.report.markdown_text import LONGEST, code, prose

MARKER = "<!-- linesmith-lint -->"

# A comment on GitHub has 65,536 characters at most.
MOST_VIOLATIONS = 40_000
MOST_OTHERS = 8_000

_WORDS = {Severity.NOTE: "note", Severity.WARNING: "**warning**", Severity.ERROR: "**error**"}


def render_markdown(report: LintReport) -> str:
    """A marker, what was found, a table of violations, and what was accepted behind a fold; of bounded length."""
    lines = [MARKER, f"### linesmith lint: {summary(report).partition(' in ')[0]}", ""]
    lines += [f"Looked at {looked_at(report)}.", *_violations(report), *_remarks(report), *_accepted(report)]
    return "\n".join(lines) + "\n"


def _violations(report: LintReport) -> Iterator[str]:
    if report.violations:
        yield from ("", "| | record | what | rule | place |", "|---|---|---|---|---|")
        worst_first = sorted(report.violations, key=lambda one: -one.severity.rank)
        yield from _fitting(_rows(worst_first), len(worst_first), MOST_VIOLATIONS)


def _remarks(report: LintReport) -> Iterator[str]:
    if report.remarks:
        yield ""
        yield from _fitting((f"- {prose(remark)}" for remark in report.remarks), len(report.remarks), MOST_OTHERS)


def _accepted(report: LintReport) -> Iterator[str]:
    if report.accepted:
        count = len(report.accepted)
        yield from ("", "<details>", f"<summary>{count:,} accepted</summary>", "")
        yield from ("| record | rule | why | by |", "|---|---|---|---|")
        yield from _fitting(map(_accepted_row, report.accepted), count, MOST_OTHERS)
        yield from ("", "</details>")


def _fitting(rows: Iterable[str], count: int, most: int) -> Iterator[str]:
    """The rows that ``most`` characters have room for, and a line that tells how many more there are."""
    shown = 0
    for row in rows:
        most -= len(row) + 1
        if most < 0:
            break
        shown += 1
        yield row
    if shown < count:
        yield from ("", f"… and {count - shown:,} more, which the log has.")


def _rows(violations: Iterable[Violation]) -> Iterator[str]:
    """A row for each, an advice in the first that it is for."""
    said: set[str] = set()
    for one in violations:
        yield _row(one if one.advice not in said else replace(one, advice=""))
        said.add(one.advice)


def _row(one: Violation) -> str:
    under = f"(with {prose(one.configuration)})" if one.configuration else ""
    what = " ".join(filter(None, (code(one.member) if one.member else "", _message(one), under)))
    advice = f"<br>{prose(one.advice)}" if one.advice else ""
    where = code(place(one)) if place(one) else ""
    return f"| {_WORDS[one.severity]} | {code(one.type)} | {what}{advice} | {code(one.rule)} | {where} |"


def _message(one: Violation) -> str:
    """What is wrong; the other member, or the group, that it names is code as well."""
    if not one.subject or len(one.message) > LONGEST:
        return prose(one.message)
    parts = re.split(rf"(?<![\w.])({re.escape(one.subject)})(?![\w\[]|\.\w)", one.message)
    return "".join(code(part) if place % 2 else prose(part) for place, part in enumerate(parts))


def _accepted_row(one: Accepted) -> str:
    name = f"{one.violation.type} {one.violation.member}".rstrip()
    return f"| {code(name)} | {code(one.violation.rule)} | {prose(one.reason)} | {code(one.by)} |"
