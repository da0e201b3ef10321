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


MARKS = "char __cacheline_group_begin__rx[0]; int a; char __cacheline_group_end__rx[0];"
PADDING = f"struct cacheline_padding {{ char x[0]; }} {LINE};"


@pytest.mark.parametrize(
    ("source", "mark"),
    [
        ("struct s { int a; } s;", ""),
        (f"struct s {{ int a; int b {LINE}; }} s;", "aligns b to 64 bytes"),
        (f"struct s {{ struct {{ int a; int b {LINE}; }}; }} s;", "aligns b to 64 bytes"),
        (f"struct s {{ int a; }} {LINE}; struct s s;", "is aligned to 64 bytes"),
        (f"struct in {{ int a; }} {LINE}; struct s {{ struct in in; int b; }} s;", ""),  # none of its own
        ("struct s { int a __attribute__((aligned(16))); } s;", ""),
        (f"struct s {{ {MARKS} }} s;", "marks the group rx"),
        (f"{PADDING} struct s {{ int a; struct cacheline_padding _p; int b; }} s;", "has the padding _p"),
        ("struct s { long a, b; char pad[48]; long c; } s;", "pads a line with pad"),
        ("struct s { long a, b; long _pad0[14]; long c; } s;", "pads a line with _pad0"),
        ("struct s { long a, b; unsigned char tail_padding_1[64]; long c; } s;", "pads a line with tail_padding_1"),
        ("struct s { long a; char pad[8]; long c; } s;", ""),  # reserved bytes
        ("struct s { long a, b; char pad[48]; } s;", ""),  # the end of a record
        ("struct s { long a, b; char buf[48]; int c; } s;", ""),
    ],
)
def test_what_shows_that_somebody_cared(tmp_path: Path, source: str, mark: str) -> None:
    assert reason(tmp_path, source, "s") == mark


def test_the_kernels_types_count_in_a_kernel_and_in_no_program(tmp_path: Path) -> None:
    source = "struct task_struct { int a; } t; struct dentry { int a; } d;"
    assert reason(tmp_path, source, "dentry") == KERNEL_TYPES["dentry"]
    assert reason(tmp_path, "struct dentry { int a; } d;", "dentry") == ""


def test_each_reason_is_a_clause_that_ends_in_its_source() -> None:
    for told in KERNEL_TYPES.values():
        assert told.endswith(")")
        assert told.partition(" ")[0].endswith("s") or told.startswith("has ")
