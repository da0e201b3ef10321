# SPDX-License-Identifier: GPL-2.0-or-later
"""Violations as a compiler or checkpatch tells them: one line each, with the place in front."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import msgspec

from linesmith.analyzer.lint.rules.catalogue import Rule
from linesmith.analyzer.model import Accepted, Figure, LintReport, Severity, Violation
from linesmith.analyzer.report.markdown import LONGEST, code, prose

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


# The key of a violation as one word, for tools that follow it from run to run.


def fingerprint(violation: Violation) -> str:
    """32 hexadecimal digits that depend on the violation's key alone."""
    from hashlib import sha256  # costs 3 ms, and most forms of a report do without

    return sha256("\0".join(violation.key).encode()).hexdigest()[:32]


# The result of a lint as JSON; docs/schema-lint.md documents it and a test keeps the two equal.

SCHEMA_VERSION = 1


class ViolationView(msgspec.Struct, frozen=True):
    """One violation; ``fingerprint`` stays the same while figures and lines change."""

    fingerprint: str
    rule: str
    severity: str
    type: str
    member: str
    subject: str
    message: str
    advice: str
    file: str | None
    line: int | None
    figures: tuple[Figure, ...]
    configuration: str


class AcceptedView(msgspec.Struct, frozen=True):
    """A violation that does not count, why, and where that is said."""

    violation: ViolationView
    reason: str
    by: str


class LintDocument(msgspec.Struct, frozen=True):
    """What ``linesmith lint --format json`` writes."""

    schema: int
    base: str | None
    head: str
    compared: int
    changed: int
    watched: int
    rules: tuple[str, ...]
    violations: tuple[ViolationView, ...]
    accepted: tuple[AcceptedView, ...]
    remarks: tuple[str, ...]
    unjudged: tuple[str, ...] = ()


def render_json(report: LintReport) -> str:
    """The report as one indented JSON document that ends in a newline."""
    document = LintDocument(
        SCHEMA_VERSION,
        report.base or None,
        report.head,
        report.compared,
        report.changed,
        report.watched,
        report.rules,
        tuple(map(_violation, report.violations)),
        tuple(AcceptedView(_violation(one.violation), one.reason, one.by) for one in report.accepted),
        report.remarks,
        report.unjudged,
    )
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(LintDocument)


def _violation(one: Violation) -> ViolationView:
    return ViolationView(
        fingerprint(one),
        one.rule,
        one.severity.value,
        one.type,
        one.member,
        one.subject,
        one.message,
        one.advice,
        one.file,
        one.line,
        one.figures,
        one.configuration,
    )


# The list of lint rules.


def render_rules(rules: Sequence[Rule]) -> str:
    """One line a rule: name, severity, what breaks it, and whether it has to be asked for."""
    width = max((len(one.name) for one in rules), default=0)
    return "".join(f"{one.name:{width}}  {one.severity:7}  {one.summary}{_extent(one)}\n" for one in rules)


def _extent(rule: Rule) -> str:
    said = ["off unless selected"] * (not rule.default) + ["on all records"] * rule.untuned
    return f" ({', '.join(said)})" if said else ""


# The result of a lint as a comment on a change, found again by its first line.

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
