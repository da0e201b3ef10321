# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a lint as JSON; docs/schema-lint.md documents it and a test keeps the two equal."""

from __future__ import annotations

import msgspec

from linesmith.analyzer.model import LintReport

SCHEMA_VERSION = 1


class LintDocument(msgspec.Struct, frozen=True):
    """What ``linesmith lint --format json`` writes."""

    schema: int
    report: LintReport


def render_json(report: LintReport) -> str:
    """The report as one indented JSON document that ends in a newline."""
    document = LintDocument(SCHEMA_VERSION, report)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def schema() -> dict[str, object]:
    """The JSON schema of the document."""
    return msgspec.json.schema(LintDocument)
