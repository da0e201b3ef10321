# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON documents obey their schemas, and the pages about them tell the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from c_source import compiled
from documented import obeys, unnamed
from linesmith_command import linesmith

OLD = (
    "struct s { int a; unsigned b:3; union { long c; struct { char d; int e; } f[2]; }; } s; struct gone { int x; } g;"
)
NEW = "struct s { long a; unsigned b:5; union { long c; struct { char d; int e; } f[3]; }; } s;"


@pytest.mark.parametrize("name", ["layout", "diff", "access", "slab", "report"])
def test_the_page_of_a_schema_names_every_field(name: str) -> None:
    assert unnamed(name) == []


def test_documents_obey_their_schemas(tmp_path: Path) -> None:
    old, new = compiled(tmp_path, OLD, name="old"), compiled(tmp_path, NEW, name="new")
    layout = linesmith("layout", old, "--format", "json", cache=tmp_path / "cache")
    obeys(json.loads(layout.stdout), "layout")
    diff = linesmith("diff", old, new, "--format", "json", cache=tmp_path / "cache")
    obeys(json.loads(diff.stdout), "diff")
