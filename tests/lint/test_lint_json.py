# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON document of a lint obeys its schema, and the page about it names every field."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
from violations_by_hand import report, violation

from linesmith.analyzer.model import Accepted, Figure
from linesmith.analyzer.report import lint_json
from linesmith.analyzer.report.lint_key import fingerprint

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_schema_beside_the_page_is_that_of_the_code() -> None:
    assert json.loads((DOCS / "schema-lint.json").read_text()) == json.loads(json.dumps(lint_json.schema()))


def test_the_page_names_every_field() -> None:
    page = (DOCS / "schema-lint.md").read_text()
    views: dict[str, dict[str, object]] = json.loads(json.dumps(lint_json.schema()["$defs"]))
    fields = {field for view in views.values() for field in json.loads(json.dumps(view.get("properties", {})))}
    assert [field for field in sorted(fields) if not re.search(rf"[`.]{field}(\[\])?`", page)] == []


def test_a_document_obeys_the_schema() -> None:
    one = violation(figures=(Figure("size", 192, 200), Figure("objects per slab", 21, None, "objects")))
    text = lint_json.render_json(report(one, accepted=(Accepted(violation(type="struct b"), "known", "baseline"),)))
    jsonschema.validate(json.loads(text), lint_json.schema())


def test_one_build_alone_has_no_base() -> None:
    assert json.loads(lint_json.render_json(report(base="")))["base"] is None


def test_a_fingerprint_outlives_lines_and_figures() -> None:
    before, after = violation(line=3, message="grew to 65"), violation(line=9, message="grew to 70")
    assert fingerprint(before) == fingerprint(after)
    assert fingerprint(before) != fingerprint(violation(subject="another"))
