# SPDX-License-Identifier: GPL-2.0-or-later
"""Random legal orders of structs, of a kernel and of one in small, and that the judge of them sees what is wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from c_source import compiled
from matrix.small_kernel import small_kernel
from patch_cases import write_files
from rewriting.expected import Expected, differences
from rewriting.legal_orders import Order
from rewriting.scratch_tree import ScratchTree
from rewriting.study import Outcome, structs, study

from linesmith.analyzer.dwarf import read_layouts, read_unindexed
from linesmith.analyzer.layouts import LayoutTable
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


PRESENT = "struct s { char a; long b; char c; int d : 3; };"
ALIGNED = "struct s { long b __attribute__((aligned(8))); char a; char c; int d : 3; };"
PACKED = "struct s { char a; char c; long b; int d : 3; } __attribute__((packed));"
HOLDER = "struct holder { struct s one[2]; char last; };"


def unit(folder: Path, source: str, name: str) -> LayoutTable:
    (folder / name).mkdir()
    return read_unindexed(compiled(folder / name, source, "-fno-eliminate-unused-debug-types"))


def judged(folder: Path, after: str, *positions: int) -> list[tuple[str, bool]]:
    """What is not as expected when members at these positions of the present struct should come in that order."""
    before = unit(folder, f"{PRESENT}\n{HOLDER}", "before")
    (layout,) = before.variants("s")
    expected = Expected(before, [Order(layout.id, positions, (), ())])
    found = differences(expected, before, unit(folder, f"{after}\n{HOLDER}", "after"))
    return [(one.record, one.edited) for one in found]


@pytest.mark.parametrize(
    ("after", "positions", "found"),
    [
        ("struct s { long b; char a; char c; int d : 3; };", (1, 0, 2, 3), []),
        ("struct s { long b; char c; char a; int d : 3; };", (1, 0, 2, 3), [("struct s", True)]),
        (PRESENT, (1, 0, 2, 3), [("struct s", True), ("struct holder", False)]),
        ("struct s { unsigned long b; char a; char c; int d : 3; };", (1, 0, 2, 3), [("struct s", True)]),
        (ALIGNED, (1, 0, 2, 3), [("struct s", True), ("struct holder", True)]),
        (PACKED, (0, 2, 1, 3), [("struct s", False), ("struct holder", False)]),
    ],
    ids=["as wanted", "another order", "no edit", "another type", "another attribute", "packed"],
)
def test_the_judge_sees_what_is_not_as_wanted(
    tmp_path: Path, after: str, positions: tuple[int, ...], found: list[tuple[str, bool]]
) -> None:
    assert list(dict.fromkeys(judged(tmp_path, after, *positions))) == found


def test_a_record_that_is_gone_is_seen(tmp_path: Path) -> None:
    before = unit(tmp_path, PRESENT, "before")
    after = unit(tmp_path, "struct other { int a; };", "after")
    assert [one.said for one in differences(Expected(before, []), before, after)] == ["it is gone"]
