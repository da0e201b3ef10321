# SPDX-License-Identifier: GPL-2.0-or-later
"""Random legal orders of structs: a sample of a kernel's, and one header of oddities in a kernel in small."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from matrix.small_kernel import small_kernel
from patch_cases import write_files
from rewriting.scratch_tree import ScratchTree
from rewriting.study import Outcome, structs, study

from linesmith.analyzer.dwarf import read_layouts
from linesmith.patches.kbuild import kernel_build

HEADERS, UNITS = 60, 4
MOST_REFUSED = 0.1
ODDITIES = """\
/**
 * struct odd - a record
 * @first: the first
 * @second: the second
 */
struct odd {
	int first;
	long second, *third;	/* of one declaration */
#ifdef CONFIG_SMP
	char fourth;
	short fifth;
#endif
	unsigned int low:3, high:5;
	union {
		int sixth;
		long seventh;
	};
	/* private: */
	char eighth[3];
	long ninth;
};
struct even {
	char a;
	short b;
	int c;
	long d;
	struct odd odd;
};
"""


def test_orders_of_a_header_are_written_confirmed_and_taken_back(tmp_path: Path) -> None:
    file = "include/linux/odd.h"
    build = kernel_build(write_files(small_kernel(tmp_path / "tree"), {file: ODDITIES}), None, lambda _: None)
    tree = ScratchTree(build, tmp_path)
    drawn = structs(tree.compiled([file], {}), tree)
    assert [one.layout.name for one in drawn] == ["even", "odd"]
    for seed in range(3):
        results = list(study(tree, drawn, Random(seed)))  # noqa: S311 - repeatable cases, no secret
        assert [one.outcome for one in results] == [Outcome.CONFIRMED] * 2, results


@pytest.mark.real
@pytest.mark.study
def test_random_orders_of_kernel_structs_are_written_confirmed_and_taken_back(
    vmlinux: Path, kernel_tree: Path, tmp_path: Path
) -> None:
    random = Random(11)  # noqa: S311 - repeatable cases, no secret
    tree = ScratchTree(kernel_build(kernel_tree, None, print), tmp_path)
    every = structs(read_layouts(vmlinux).layouts, tree)
    headers = random.sample([one for one in every if one.file.startswith("include/linux/")], HEADERS)
    units = random.sample([one for one in every if one.file.endswith(".c")], UNITS)
    results = list(study(tree, [*headers, *units], random))
    assert [one for one in results if one.outcome is Outcome.WRONG] == []
    outcomes = Counter(one.outcome for one in results)
    judged = outcomes[Outcome.CONFIRMED] + outcomes[Outcome.REFUSED]
    assert judged > len(results) / 2
    assert outcomes[Outcome.REFUSED] <= MOST_REFUSED * judged
