# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms that a lint's result is written in, by the names of ``--format``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import quote

import msgspec

from linesmith.analyzer.lint.rules.catalogue import page, rule
from linesmith.analyzer.model import Accepted, Figure, LintReport, Severity, Violation
from linesmith.analyzer.report.lint import fingerprint, render_json, render_markdown, render_text, sentence, summary

# Violations as workflow commands of GitHub, which shows them beside the changed lines.
#
# How values are escaped: docs.github.com, "Workflow commands for GitHub Actions", and ``toCommand`` of @actions/core.

_COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}
_VALUE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_DATA = str.maketrans(_VALUE)
_PROPERTY = str.maketrans({**_VALUE, ":": "%3A", ",": "%2C"})


def render_github(report: LintReport) -> str:
    """A command a violation and a remark, then the summary, which holds nothing of the input."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: LintReport) -> Iterator[str]:
    yield from map(_violation, report.violations)
    for remark in report.remarks:
        yield f"::notice title=linesmith::{remark.translate(_DATA)}"
    yield summary(report)


def _violation(one: Violation) -> str:
    properties = {"file": one.file, "line": one.line if one.file else None, "title": one.rule}
    said = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in properties.items() if value)
    text = f"{sentence(one)}\n{one.advice}" if one.advice else sentence(one)
    return f"::{_COMMANDS[one.severity]} {said}::{text.translate(_DATA)}"


# Violations as GitLab's code quality report, which it shows beside the changed lines of a merge request.

_SEVERITIES = {Severity.NOTE: "info", Severity.WARNING: "minor", Severity.ERROR: "major"}


def render_gitlab(report: LintReport) -> str:
    """A JSON list; a violation without a place is shown at the first line of the file with intents."""
    return msgspec.json.format(msgspec.json.encode(list(map(_issue, report.violations))), indent=2).decode() + "\n"


def _issue(one: Violation) -> dict[str, object]:
    return {
        "description": f"{sentence(one)} ({one.advice})" if one.advice else sentence(one),
        "check_name": one.rule,
        "fingerprint": fingerprint(one),
        "severity": _SEVERITIES[one.severity],
        "location": {"path": one.file or "linesmith.toml", "lines": {"begin": max(one.line or 1, 1)}},
    }


# The result of a lint as SARIF 2.1.0 (OASIS), the form that code scanning services take in.

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}
_LITERAL = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})

Json = dict[str, object]


def render_sarif(report: LintReport) -> str:
    """One run; accepted violations are in it as suppressed results, remarks as notifications of the tool."""
    results = [_result(one, report.rules) for one in report.violations]
    results += [_suppressed(one, report.rules) for one in report.accepted]
    run: Json = {
        "tool": {"driver": _driver(report.rules)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the source tree."}}},
        "invocations": [_invocation(report)],
        "results": results,
    }
    document: Json = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _driver(names: Sequence[str]) -> Json:
    from importlib.metadata import version  # costs 10 ms, and most reports are in another form

    return {"name": "linesmith", "version": version("linesmith"), "rules": [_rule(name) for name in names]}


def _rule(name: str) -> Json:
    """What GitHub's code scanning asks for, too: the first paragraph of the page as the full description."""
    one, text = rule(name), page(name)
    return {
        "id": name,
        "name": name.title().replace("-", ""),
        "shortDescription": {"text": f"{one.summary[0].upper()}{one.summary[1:]}."},
        "fullDescription": {"text": " ".join(text.split("\n\n")[1].split())},
        "help": {"text": f"linesmith explain {name}", "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[one.severity], "enabled": one.default},
    }


def _invocation(report: LintReport) -> Json:
    notes = [{"level": "note", "message": {"text": _plain(remark)}} for remark in report.remarks]
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _result(one: Violation, rules: Sequence[str]) -> Json:
    index: Json = {"ruleIndex": rules.index(one.rule)} if one.rule in rules else {}
    return {
        "ruleId": one.rule,
        **index,
        "level": _LEVELS[one.severity],
        "message": {"text": _plain(f"{sentence(one)}; {one.advice}" if one.advice else sentence(one))},
        "locations": [_location(one)],
        "partialFingerprints": {"linesmithKey/v1": fingerprint(one)},
        "properties": {"subject": one.subject, "figures": list(map(_figure, one.figures))},
    }


def _plain(text: str) -> str:
    """A message without links (SARIF 3.11.6) and placeholders (3.11.5)."""
    return text.translate(_LITERAL)


def _suppressed(one: Accepted, rules: Sequence[str]) -> Json:
    said = f"{one.reason} ({one.by})" if one.by else one.reason
    suppression: Json = {"kind": "external", "status": "accepted", "justification": said}
    return {**_result(one.violation, rules), "suppressions": [suppression]}


def _figure(one: Figure) -> Json:
    return {"name": one.name, "old": one.old, "new": one.new, "unit": one.unit}


def _location(one: Violation) -> Json:
    name = f"{one.type}.{one.member}" if one.member else one.type
    logical: Json = {
        "name": one.member or one.type,
        "fullyQualifiedName": name,
        "kind": "member" if one.member else "type",
    }
    location: Json = {"logicalLocations": [logical]}
    if one.file:
        location["physicalLocation"] = {"artifactLocation": _artifact(one.file), **_region(one.line)}
    return location


def _artifact(file: str) -> Json:
    path = quote(file, safe="/")
    return {"uri": f"file:///{path.lstrip('/')}"} if path.startswith("/") else {"uri": path, "uriBaseId": "SRCROOT"}


def _region(line: int | None) -> Json:
    return {"region": {"startLine": line}} if line else {}


RENDERINGS: Mapping[str, Callable[[LintReport], str]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
    "gitlab": render_gitlab,
    "markdown": render_markdown,
}
