# SPDX-License-Identifier: GPL-2.0-or-later
"""A lint's result for the services that show it beside a change, and all its forms by the names of ``--format``.

GitHub: docs.github.com, "Workflow commands for GitHub Actions", escaped as ``toCommand`` of @actions/core does. GitLab:
its code quality report. Code scanning: SARIF 2.1.0 (OASIS).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from linesmith.analyzer.lint.rules.catalogue import page, rule
from linesmith.analyzer.model import Accepted, LintReport, Severity, Violation
from linesmith.analyzer.report.json_text import Json, json_text
from linesmith.analyzer.report.lint import fingerprint, render_json, render_markdown, render_text, sentence, summary

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


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}
_LITERAL = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def render_sarif(report: LintReport) -> str:
    """One run; accepted violations are in it as suppressed results, remarks as notifications of the tool."""
    from importlib.metadata import version  # costs 10 ms, and most reports are in another form

    rules = report.rules
    notes = [{"level": "note", "message": {"text": _plain(remark)}} for remark in report.remarks]
    run: Json = {
        "tool": {"driver": {"name": "linesmith", "version": version("linesmith"), "rules": list(map(_rule, rules))}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the source tree."}}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": [
            *(_result(one, rules) for one in report.violations),
            *(_result(one.violation, rules) | _suppression(one) for one in report.accepted),
        ],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


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
        "message": {"text": _plain(f"{sentence(one)}; {one.advice}" if one.advice else sentence(one))},
        "locations": [_location(one)],
        "partialFingerprints": {"linesmithKey/v1": fingerprint(one)},
        "properties": {"subject": one.subject, "figures": one.figures},
    }


def _plain(text: str) -> str:
    """A message without links (SARIF 3.11.6) and placeholders (3.11.5)."""
    return text.translate(_LITERAL)


def _suppression(one: Accepted) -> Json:
    reason = f"{one.reason} ({one.by})" if one.by else one.reason
    return {"suppressions": [{"kind": "external", "status": "accepted", "justification": reason}]}


def _location(one: Violation) -> Json:
    name = f"{one.type}.{one.member}" if one.member else one.type
    logical: Json = {
        "name": one.member or one.type,
        "fullyQualifiedName": name,
        "kind": "member" if one.member else "type",
    }
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
