# SPDX-License-Identifier: GPL-2.0-or-later
"""Digests in the index: equal for two records, also of two files, exactly when they have the same layout."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.dwarf import read_layouts

RECORD = "struct leaf { int low; }; struct s { int a; long b : 3; struct { char c; }; struct leaf leaf; } s;"


def digest(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Of ``struct s`` in the source."""
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(folder / "cache"))
    layouts = read_layouts(compiled(folder, source)).layouts
    return layouts.digest(layouts.variants("s")[0].id)


@pytest.mark.parametrize(
    "other",
    [
        f"\n\nstruct first {{ int x; }} first; {RECORD}",
        RECORD.replace("struct leaf { int low; }", "struct leaf { unsigned high; }"),
    ],
    ids=["on another line, behind another record", "with other members in a record that has a name"],
)
def test_what_moves_no_member_of_a_record_does_not_change_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    assert digest(tmp_path, RECORD, monkeypatch) == digest(tmp_path, other, monkeypatch)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int a", "int A"),
        ("int a", "unsigned a"),
        ("int a", "int a[1]"),
        ("long b : 3", "long b : 4"),
        ("char c", "char C"),
        ("int a; long b : 3;", "long b : 3; int a;"),
        ("{ int low; }", "{ int low, high; }"),
    ],
)
def test_any_change_of_a_member_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    other = RECORD.replace(old, new)
    assert digest(tmp_path, RECORD, monkeypatch) != digest(tmp_path, other, monkeypatch)
