# SPDX-License-Identifier: GPL-2.0-or-later
"""Candidates for structs of a kernel, and of one in small, are what the compiler makes of the edited source."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from c_source import compiled
from legality.study import cases
from matrix.small_kernel import small_kernel
from patch_cases import write_files
from rewriting.study import Outcome, study

from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.patches.source.tree import Tree

FILE = "include/linux/odd.h"
HEADERS = 40
MOST_REFUSED = 0.1
SOURCES = Path(__file__).with_name("sources")
ODDITIES = (SOURCES / "oddities.h").read_text()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.study)])
def test_candidates_of_a_header_are_written_and_confirmed(tmp_path: Path, seed: int) -> None:
    tree = write_files(small_kernel(tmp_path / "tree"), {FILE: ODDITIES})
    unit = f'#define CONFIG_SMP 1\n#include "{tree / FILE}"\nstruct even one;\n'
    layouts = read_layouts(compiled(tmp_path, unit)).layouts
    drawn = [case for at in range(3) for case in cases(layouts, 2, 10 * seed + at)]
    results = list(study(Tree(tree), drawn, layouts))
    assert [one for one in results if one.outcome is Outcome.WRONG] == []
    assert {one.name for one in results if one.outcome is Outcome.CONFIRMED} == {"even", "odd"}


@pytest.mark.real
@pytest.mark.study
def test_candidates_of_kernel_structs_are_written_and_confirmed(vmlinux: Path, kernel_tree: Path) -> None:
    layouts = read_layouts(vmlinux).layouts
    drawn = (case for case in cases(layouts, 400, 11) if "/include/linux/" in f"/{case.layout.file}")
    results = list(study(Tree(kernel_tree), islice(drawn, HEADERS), layouts))
    assert [one for one in results if one.outcome is Outcome.WRONG] == []
    outcomes = Counter(one.outcome for one in results)
    judged = outcomes[Outcome.CONFIRMED] + outcomes[Outcome.REFUSED]
    assert judged > len(results) / 3
    assert outcomes[Outcome.REFUSED] <= MOST_REFUSED * judged
