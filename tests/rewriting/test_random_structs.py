# SPDX-License-Identifier: GPL-2.0-or-later
"""A seeded sample of what tests/bench/rewritten_structs.py asks of thousands of structs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from rewriting.scratch_tree import scratch_tree
from rewriting.study import Outcome, structs, study

from linesmith.analyzer.dwarf import read_layouts
from linesmith.patches.kbuild import kernel_build

HEADERS, UNITS = 60, 4
MOST_REFUSED = 0.1


@pytest.mark.real
def test_random_orders_of_kernel_structs_are_written_confirmed_and_taken_back(
    vmlinux: Path, kernel_tree: Path, tmp_path: Path
) -> None:
    random = Random(11)  # noqa: S311 - repeatable cases, no secret
    tree = scratch_tree(kernel_build(kernel_tree, None, print), tmp_path)
    every = structs(read_layouts(vmlinux).layouts, tree)
    headers = random.sample([one for one in every if one.file.startswith("include/linux/")], HEADERS)
    units = random.sample([one for one in every if one.file.endswith(".c")], UNITS)
    results = list(study(tree, [*headers, *units], random))
    assert [one for one in results if one.outcome is Outcome.WRONG] == []
    outcomes = Counter(one.outcome for one in results)
    judged = outcomes[Outcome.CONFIRMED] + outcomes[Outcome.REFUSED]
    assert judged > len(results) / 2
    assert outcomes[Outcome.REFUSED] <= MOST_REFUSED * judged
