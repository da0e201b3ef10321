# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON documents of the commands held against their schemas in ``docs``, which other programs rely on."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

DOCS = Path(__file__).resolve().parents[1] / "docs"


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema of the command's document, in which a field that it does not name is an error."""
    document: dict[str, Any] = json.loads((DOCS / f"schema-{name}.json").read_text())
    for one in document["$defs"].values():
        if "properties" in one:
            one["additionalProperties"] = False
    return document


def obeys(document: object, name: str) -> None:
    """Fail where the document has other fields, or values, than its schema tells."""
    jsonschema.validate(document, schema(name))


def page_of(command: str) -> str:
    """The section of ``docs/json.md`` on the command."""
    _, found, behind = (DOCS / "json.md").read_text().partition(f"\n## `linesmith {command}` as JSON\n")
    assert found, command
    return behind.partition("\n## ")[0]


def unnamed(name: str) -> list[str]:
    """Fields of the schema that the command's section does not name."""
    page = page_of(name)
    views = [view for key, view in schema(name)["$defs"].items() if key != "ElfIdentity"]
    fields = {field for view in views for field in view.get("properties", ())}
    return [field for field in sorted(fields) if not re.search(rf"[`.]{field}(\[\])?`", page)]
