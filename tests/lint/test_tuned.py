# SPDX-License-Identifier: GPL-2.0-or-later
"""What shows that somebody cared for a layout."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled

from linesmith.analyzer.dwarf import read_unindexed
from linesmith.analyzer.lint import tuned
from linesmith.analyzer.lint.kernel_types import KERNEL_TYPES

LINE = "__attribute__((aligned(64)))"


def reason(folder: Path, source: str, name: str) -> str:
    layouts = read_unindexed(compiled(folder, source))
    return tuned(layouts.variants(name)[0], layouts)


def test_a_plain_record_is_not_tuned(tmp_path: Path) -> None:
    assert reason(tmp_path, "struct s { int a; } s;", "s") == ""


def test_a_member_that_asks_for_a_line_is_a_mark(tmp_path: Path) -> None:
    assert reason(tmp_path, f"struct s {{ int a; int b {LINE}; }} s;", "s") == "aligns b to 64 bytes"


def test_a_member_of_a_part_without_a_name_counts_for_the_whole(tmp_path: Path) -> None:
    source = f"struct s {{ struct {{ int a; int b {LINE}; }}; }} s;"
    assert reason(tmp_path, source, "s") == "aligns b to 64 bytes"


def test_a_record_that_asks_for_a_line_is_tuned(tmp_path: Path) -> None:
    assert reason(tmp_path, f"struct s {{ int a; }} {LINE}; struct s s;", "s") == "is aligned to 64 bytes"


def test_an_alignment_that_comes_with_an_embedded_type_is_none_of_its_own(tmp_path: Path) -> None:
    source = f"struct in {{ int a; }} {LINE}; struct out {{ struct in in; int b; }} s;"
    assert reason(tmp_path, source, "out") == ""


def test_an_alignment_below_a_line_says_nothing_of_lines(tmp_path: Path) -> None:
    assert reason(tmp_path, "struct s { int a __attribute__((aligned(16))); } s;", "s") == ""


def test_group_markers_of_the_kernel_are_a_mark(tmp_path: Path) -> None:
    source = "struct s { char __cacheline_group_begin__rx[0]; int a; char __cacheline_group_end__rx[0]; } s;"
    assert reason(tmp_path, source, "s") == "marks the group rx"


def test_padding_of_the_kernel_is_a_mark(tmp_path: Path) -> None:
    padding = f"struct cacheline_padding {{ char x[0]; }} {LINE};"
    source = "struct s { int a; struct cacheline_padding _p; int b; } s;"
    assert reason(tmp_path, padding + source, "s") == "has the padding _p"


@pytest.mark.parametrize("pad", ["char pad[48]", "long _pad0[14]", "unsigned char tail_padding_1[64]"])
def test_an_array_that_fills_a_line_is_a_mark(tmp_path: Path, pad: str) -> None:
    name = pad.split()[-1].partition("[")[0]
    assert reason(tmp_path, f"struct s {{ long a, b; {pad}; long c; }} s;", "s") == f"pads a line with {name}"


@pytest.mark.parametrize(
    "members", ["long a; char pad[8]; long c;", "long a, b; char pad[48];", "long a, b; char buf[48]; int c;"]
)
def test_reserved_bytes_and_the_end_of_a_record_are_none(tmp_path: Path, members: str) -> None:
    assert reason(tmp_path, f"struct s {{ {members} }} s;", "s") == ""


def test_the_kernels_types_count_in_a_kernel(tmp_path: Path) -> None:
    source = "struct task_struct { int a; } t; struct dentry { int a; } d;"
    assert reason(tmp_path, source, "dentry") == KERNEL_TYPES["dentry"]


def test_a_program_with_a_record_of_that_name_is_no_kernel(tmp_path: Path) -> None:
    assert reason(tmp_path, "struct dentry { int a; } d;", "dentry") == ""


@pytest.mark.parametrize("name", sorted(KERNEL_TYPES))
def test_each_reason_is_a_clause_that_ends_in_its_source(name: str) -> None:
    assert KERNEL_TYPES[name].endswith(")")
    assert KERNEL_TYPES[name].partition(" ")[0].endswith("s") or KERNEL_TYPES[name].startswith("has ")
