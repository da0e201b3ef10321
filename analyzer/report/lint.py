# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a lint: a line for each violation as a compiler prints it, JSON, and a comment in Markdown.

Names and reasons come from files that anyone may have written: none of them breaks a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from linesmith.analyzer.lint.rules.catalogue import Rule
from linesmith.analyzer.model import LintReport, Severity, Violation
from linesmith.analyzer.report.json_text import Json, fields_of, json_text
from linesmith.analyzer.report.markdown import LONGEST, code, markdown_row, prose
from linesmith.analyzer.report.prose import counted, in_columns

_BREAKS = str.maketrans({"\n": " ", "\r": " ", "\t": " "})


def render_text(report: LintReport) -> str:
    """Each violation, an advice below the first that it is for, remarks, and a line that says what was looked at."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: LintReport) -> Iterator[str]:
    advised: set[str] = set()
    for violation in report.violations:
        where = place(violation) or one_line(report.head)
        yield f"{where}: {violation.severity.upper()}: {sentence(violation)} [{violation.rule}]"
        if violation.advice and violation.advice not in advised:
            advised.add(violation.advice)
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
    counts = Counter(one.severity for one in report.violations)
    words = [counted(counts[severity], severity) for severity in reversed(Severity) if counts[severity]]
    more = f"; {len(report.accepted):,} accepted" if report.accepted else ""
    return f"{', '.join(words) or 'no violations'} in {looked_at(report)}{more}"


def looked_at(report: LintReport) -> str:
    """``12,345 records, 120 changed, 14 watched``."""
    changed = f", {report.changed:,} changed" if report.base else ""
    return f"{counted(report.compared, 'record')}{changed}, {report.watched:,} watched"


def fingerprint(violation: Violation) -> str:
    """32 hexadecimal digits by which tools follow a violation from run to run; they depend on its key alone."""
    from hashlib import sha256  # costs 3 ms, and most forms of a report do without

    return sha256("\0".join(violation.key).encode()).hexdigest()[:32]


# The same as JSON (docs/json.md).

SCHEMA_VERSION = 1


def render_json(report: LintReport) -> str:
    """The report as one indented JSON document that ends in a newline."""
    accepted = [{"violation": _violation(one.violation), "reason": one.reason, "by": one.by} for one in report.accepted]
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "base": report.base or None,
            **fields_of(report, "head", "compared", "changed", "watched", "rules"),
            "violations": [_violation(one) for one in report.violations],
            "accepted": accepted,
            "remarks": report.remarks,
            "unjudged": report.unjudged,
        }
    )


def _violation(one: Violation) -> Json:
    """A violation; its fingerprint stays the same while figures and lines change."""
    names = ("rule", "severity", "type", "member", "subject", "message", "advice", "file", "line", "figures")
    return {"fingerprint": fingerprint(one), **fields_of(one, *names, "configuration")}


def render_rules(rules: Sequence[Rule]) -> str:
    """One line a rule: name, severity, what breaks it, and whether it is for all records."""
    widths = [max((len(one.name) for one in rules), default=0), max(map(len, Severity)), 0]
    rows = []
    for one in rules:
        extent = " (on all records)" if one.untuned else ""
        rows.append(in_columns((one.name, one.severity, f"{one.summary}{extent}"), widths))
    return "".join(f"{row}\n" for row in rows)


# A comment on a change is found again by its first line.
MARKER = "<!-- linesmith-lint -->"

# A comment on GitHub has 65,536 characters at most.
MOST_VIOLATIONS = 40_000
MOST_OTHERS = 8_000

_WORDS = {Severity.NOTE: "note", Severity.WARNING: "**warning**", Severity.ERROR: "**error**"}


def render_markdown(report: LintReport) -> str:
    """A marker, what was found, a table of violations, and what was accepted behind a fold; of bounded length."""
    counts = summary(report).partition(" in ")[0]
    lines = [MARKER, f"### linesmith lint: {counts}", "", f"Looked at {looked_at(report)}."]
    if report.violations:
        lines += ["", "| | record | what | rule | place |", "|---|---|---|---|---|"]
        worst_first = sorted(report.violations, key=lambda one: -one.severity.rank)
        lines += _fitting(_rows(worst_first), len(worst_first), MOST_VIOLATIONS)
    if report.remarks:
        lines += ["", *_fitting((f"- {prose(one)}" for one in report.remarks), len(report.remarks), MOST_OTHERS)]
    if report.accepted:
        count = len(report.accepted)
        lines += ["", "<details>", f"<summary>{count:,} accepted</summary>", ""]
        lines += ["| record | rule | why | by |", "|---|---|---|---|"]
        rows = (
            markdown_row(
                code(f"{one.violation.type} {one.violation.member}".rstrip()),
                code(one.violation.rule),
                prose(one.reason),
                code(one.by),
            )
            for one in report.accepted
        )
        lines += [*_fitting(rows, count, MOST_OTHERS), "", "</details>"]
    return "\n".join(lines) + "\n"


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
    advised: set[str] = set()
    for one in violations:
        under = f"(with {prose(one.configuration)})" if one.configuration else ""
        what = " ".join(filter(None, (code(one.member) if one.member else "", _message(one), under)))
        advice = f"<br>{prose(one.advice)}" if one.advice and one.advice not in advised else ""
        where = code(place(one)) if place(one) else ""
        yield markdown_row(_WORDS[one.severity], code(one.type), f"{what}{advice}", code(one.rule), where)
        advised.add(one.advice)


def _message(one: Violation) -> str:
    """What is wrong; the other member, or the group, that it names is code as well."""
    if not one.subject or len(one.message) > LONGEST:
        return prose(one.message)
    parts = re.split(rf"(?<![\w.])({re.escape(one.subject)})(?![\w\[]|\.\w)", one.message)
    return "".join(code(part) if place % 2 else prose(part) for place, part in enumerate(parts))
