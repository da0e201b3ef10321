# SPDX-License-Identifier: GPL-2.0-or-later
"""The units that count are chosen once, and again when what chooses them has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan.trees import program_tree

from linesmith.patches.scan import kept_selection
from linesmith.patches.scan.database import database
from linesmith.patches.scan.files import Files
from linesmith.patches.scan.kept_selection import Selections, stamp
from linesmith.patches.scan.selection import selected
from linesmith.patches.scan.unit import Unit


def test_another_way_of_choosing_chooses_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    tree = program_tree(tmp_path / "tree", {"a.c": "struct box { int width; } box;", "b.c": "int x;"})
    build = database(tree, None, lambda _: None)
    chosen: list[str] = []

    def watched(units: tuple[Unit, ...], record: str, files: Files) -> tuple[Unit, ...]:
        chosen.append(record)
        return selected(units, record, files)

    monkeypatch.setattr(kept_selection, "selected", watched)
    for _ in range(2):
        assert [Path(unit.file).name for unit in Selections(build, Files((tmp_path,))).units("box")] == ["a.c"]
    assert chosen == ["box"]
    monkeypatch.setattr(kept_selection, "stamp", lambda: f"{stamp()} of another release")
    assert len(Selections(build, Files((tmp_path,))).units("box")) == 1
    assert chosen == ["box", "box"]
