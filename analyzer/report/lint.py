# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a lint: a line for each violation as a compiler prints it, JSON, a comment, and forms for services.

Names and reasons come from files that anyone may have written: none of them breaks a line. GitHub: docs.github.com,
"Workflow commands for GitHub Actions", escaped as ``toCommand`` of @actions/core does. GitLab: its code quality report.
Code scanning: SARIF 2.1.0 (OASIS).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from linesmith.analyzer.base.text import visible
from linesmith.analyzer.lint.rules.catalogue import Rule, page, rule
from linesmith.analyzer.model import LintReport, Severity, Violation
from linesmith.analyzer.report.prose import Json, counted, fields_of, in_columns, json_text

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


# A comment in Markdown. Names must not become a table, a link, HTML, a mention of somebody or a reference to an issue
# (CommonMark, GitHub's and GitLab's kinds).

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
        lines += [
            "",
            *_fitting((f"- {_prose(one.strip())}" for one in report.remarks), len(report.remarks), MOST_OTHERS),
        ]
    if report.accepted:
        count = len(report.accepted)
        lines += ["", "<details>", f"<summary>{count:,} accepted</summary>", ""]
        lines += ["| record | rule | why | by |", "|---|---|---|---|"]
        rows = (
            _markdown_row(
                _code(f"{one.violation.type} {one.violation.member}".rstrip()),
                _code(one.violation.rule),
                _prose(one.reason),
                _code(one.by),
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
        under = f"(with {_prose(one.configuration)})" if one.configuration else ""
        what = " ".join(filter(None, (_code(one.member) if one.member else "", _message(one), under)))
        advice = f"<br>{_prose(one.advice)}" if one.advice and one.advice not in advised else ""
        where = _code(place(one)) if place(one) else ""
        yield _markdown_row(_WORDS[one.severity], _code(one.type), f"{what}{advice}", _code(one.rule), where)
        advised.add(one.advice)


def _message(one: Violation) -> str:
    """What is wrong; the other member, or the group, that it names is code as well."""
    if not one.subject or len(one.message) > LONGEST:
        return _prose(one.message)
    parts = re.split(rf"(?<![\w.])({re.escape(one.subject)})(?![\w\[]|\.\w)", one.message)
    return "".join(_code(part) if place % 2 else _prose(part) for place, part in enumerate(parts))


LONGEST = 400

# What a code span holds as it is, in a table, too.
_PLAIN_CODE = re.compile(r"[\w ./:,()*+=<>#@&;{}\[\]!?~^%$'\"-]+", re.ASCII)
_PLAIN_PROSE = re.compile(r"[A-Za-z0-9 ,;()_]")
# A space of no width: the letter behind no longer belongs to a sign in front that makes a reference.
_BREAK = "&#8203;"


def _code(text: str) -> str:
    """A name, in the type of a computer."""
    shown = _shown(text)
    if _PLAIN_CODE.fullmatch(shown) and shown.strip() == shown:
        return f"`{shown}`"
    return f"<code>{''.join(map(_entity, shown))}</code>"


def _prose(text: str) -> str:
    """A sentence; what has a meaning in Markdown, or would make a reference of what follows, is taken out of it."""
    shown = _shown(text)
    return "".join(_letter(shown, index) for index in range(len(shown)))


def _shown(text: str) -> str:
    """On one line, of bounded length, with nothing that does not show."""
    shown = visible(re.sub(r"[\r\n\t]+", " ", text))
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _letter(text: str, index: int) -> str:
    """The letter at ``index``, escaped where it may mean something."""
    letter, behind = text[index], text[index + 1 : index + 2]
    if letter == "'" or (letter in ".:" and behind in ("", " ")):
        return letter
    if letter == "_" and not (index and _in_word(text[index - 1]) and _in_word(behind)):
        return _entity(letter)
    if ord(letter) > 127 or _PLAIN_PROSE.match(letter):
        return letter
    joins = letter in "./" or (letter == "-" and not behind.isdigit())
    return _entity(letter) + (_BREAK if not joins and _in_word(behind) else "")


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _entity(letter: str) -> str:
    return letter if letter.isalnum() or letter == " " or ord(letter) > 127 else f"&#{ord(letter)};"


def _markdown_row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


# For services that show it next to a change, and all forms by the names of ``--format``.

_COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}
_VALUE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_DATA = str.maketrans(_VALUE)
_PROPERTY = str.maketrans({**_VALUE, ":": "%3A", ",": "%2C"})


def render_github(report: LintReport) -> str:
    """A command a violation and a remark, then the summary, which holds nothing of the input."""
    lines = []
    for one in report.violations:
        properties = {"file": one.file, "line": one.line if one.file else None, "title": one.rule}
        given = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in properties.items() if value)
        text = f"{sentence(one)}\n{one.advice}" if one.advice else sentence(one)
        lines.append(f"::{_COMMANDS[one.severity]} {given}::{text.translate(_DATA)}")
    lines += [f"::notice title=linesmith::{remark.translate(_DATA)}" for remark in report.remarks]
    return "".join(f"{line}\n" for line in (*lines, summary(report)))


_SEVERITIES = {Severity.NOTE: "info", Severity.WARNING: "minor", Severity.ERROR: "major"}


def render_gitlab(report: LintReport) -> str:
    """A JSON list; a violation without a place is shown at the first line of the file with intents."""
    return json_text(list(map(_issue, report.violations)))


def _issue(one: Violation) -> Json:
    return {
        "description": f"{sentence(one)} ({one.advice})" if one.advice else sentence(one),
        "check_name": one.rule,
        "fingerprint": fingerprint(one),
        "severity": _SEVERITIES[one.severity],
        "location": {"path": one.file or "linesmith.toml", "lines": {"begin": max(one.line or 1, 1)}},
    }


SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}
# A message is without links (SARIF 3.11.6) and placeholders (3.11.5).
_LITERAL = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def render_sarif(report: LintReport) -> str:
    """One run; accepted violations are in it as suppressed results, remarks as notifications of the tool."""
    from importlib.metadata import version  # costs 10 ms, and most reports are in another form

    rules = report.rules
    notes = [{"level": "note", "message": {"text": remark.translate(_LITERAL)}} for remark in report.remarks]
    results = [_result(one, rules) for one in report.violations]
    for accepted in report.accepted:
        reason = f"{accepted.reason} ({accepted.by})" if accepted.by else accepted.reason
        suppression = {"kind": "external", "status": "accepted", "justification": reason}
        results.append(_result(accepted.violation, rules) | {"suppressions": [suppression]})
    run: Json = {
        "tool": {"driver": {"name": "linesmith", "version": version("linesmith"), "rules": list(map(_rule, rules))}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the source tree."}}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": results,
    }
    return json_text({"$schema": SARIF, "version": "2.1.0", "runs": [run]})


def _rule(name: str) -> Json:
    """What GitHub's code scanning asks for, too: the first paragraph of the page as the full description."""
    one, text = rule(name), page(name)
    return {
        "id": name,
        "name": name.title().replace("-", ""),
        "shortDescription": {"text": f"{one.summary[0].upper()}{one.summary[1:]}."},
        "fullDescription": {"text": " ".join(text.split("\n\n")[1].split())},
        "help": {"text": f"linesmith explain {name}", "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[one.severity], "enabled": True},
    }


def _result(one: Violation, rules: Sequence[str]) -> Json:
    index: Json = {"ruleIndex": rules.index(one.rule)} if one.rule in rules else {}
    return {
        "ruleId": one.rule,
        **index,
        "level": _LEVELS[one.severity],
        "message": {"text": (f"{sentence(one)}; {one.advice}" if one.advice else sentence(one)).translate(_LITERAL)},
        "locations": [_location(one)],
        "partialFingerprints": {"linesmithKey/v1": fingerprint(one)},
        "properties": {"subject": one.subject, "figures": one.figures},
    }


def _location(one: Violation) -> Json:
    name, kind = (f"{one.type}.{one.member}", "member") if one.member else (one.type, "type")
    logical = {"name": one.member or one.type, "fullyQualifiedName": name, "kind": kind}
    location: Json = {"logicalLocations": [logical]}
    if one.file:
        path = quote(one.file, safe="/")
        absolute, relative = {"uri": f"file:///{path.lstrip('/')}"}, {"uri": path, "uriBaseId": "SRCROOT"}
        physical: Json = {"artifactLocation": absolute if path.startswith("/") else relative}
        location["physicalLocation"] = physical | ({"region": {"startLine": one.line}} if one.line else {})
    return location


RENDERINGS: Mapping[str, Callable[[LintReport], str]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
    "gitlab": render_gitlab,
    "markdown": render_markdown,
}
