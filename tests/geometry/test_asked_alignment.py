# SPDX-License-Identifier: GPL-2.0-or-later
"""Alignment that a declaration asks for: all of it, or only what is large."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry import asked_alignments, asked_at_least

SOURCE = """
#define LINE __attribute__((aligned(64)))
struct plain { int word; };
struct lock { int word; } LINE;
struct word { int word LINE; };
struct subject {
    struct lock brought;
    int own LINE;
    struct { int first; struct { int deep LINE; }; };
    union { struct { int part; } LINE; };
    int pair __attribute__((aligned(16)));
} subject;
struct word word;
struct plain plain;
"""


@pytest.mark.parametrize("least", [2, 16, 64, 128])
def test_those_that_ask_for_much_are_among_all(least: int, tmp_path: Path) -> None:
    layouts = read_layouts(compiled(tmp_path, SOURCE)).layouts
    for layout in layouts:
        every = [one for one in asked_alignments(layout, layouts) if one.asked >= least]
        assert asked_at_least(least, layout, layouts) == every
