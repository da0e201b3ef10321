# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON documents obey their schemas, and the pages about them tell the truth."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
from c_source import compiled
from json_pages import page_of
from linesmith_command import linesmith

from linesmith.analyzer.report import access, run_forms, slab
from linesmith.analyzer.report import diff as diff_json
from linesmith.analyzer.report import layout as layout_json

DOCS = Path(__file__).resolve().parents[2] / "docs"
MODULES = [
    *((layout_json, "layout"), (diff_json, "diff"), (access, "access"), (slab, "slab")),
    (run_forms, "report"),
]
OLD = (
    "struct s { int a; unsigned b:3; union { long c; struct { char d; int e; } f[2]; }; } s; struct gone { int x; } g;"
)
NEW = "struct s { long a; unsigned b:5; union { long c; struct { char d; int e; } f[3]; }; } s;"


@pytest.mark.parametrize(("module", "name"), MODULES)
def test_the_schema_in_the_docs_is_that_of_the_code_and_its_page_names_every_field(
    module: ModuleType, name: str
) -> None:
    schema = json.loads(json.dumps(module.schema()))
    assert json.loads((DOCS / f"schema-{name}.json").read_text()) == schema
    page = page_of(name)
    views = [view for key, view in schema["$defs"].items() if key != "ElfIdentity"]
    fields = {field for view in views for field in view.get("properties", ())}
    assert [field for field in sorted(fields) if not re.search(rf"[`.]{field}(\[\])?`", page)] == []


def test_documents_obey_their_schemas(tmp_path: Path) -> None:
    old, new = compiled(tmp_path, OLD, name="old"), compiled(tmp_path, NEW, name="new")
    layout = linesmith("layout", old, "--format", "json", cache=tmp_path / "cache")
    jsonschema.validate(json.loads(layout.stdout), layout_json.schema())
    diff = linesmith("diff", old, new, "--format", "json", cache=tmp_path / "cache")
    jsonschema.validate(json.loads(diff.stdout), diff_json.schema())
