# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation of linesmith's own format names every column, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from linesmith.analyzer.model import SharedLine
from linesmith.plugins.profiles.record_columns import array_of

_DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "profiles.md"


def test_the_table_of_columns_is_the_schema() -> None:
    section = _DOCUMENT.read_text().partition("## linesmith's own format")[2].partition("The metadata of the file")[0]
    rows = re.findall(r"^\| (`.*)\|$", section, re.MULTILINE)

    told = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row)}

    assert told - {"timekeeping", "scheduler"} == set(_names(array_of(SharedLine, ()).type))


def _names(kind: pa.DataType) -> Iterator[str]:
    """The names of all columns, those within lists included."""
    for field in kind:
        yield field.name
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            yield from _names(inner)
