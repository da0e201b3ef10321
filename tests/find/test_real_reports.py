# SPDX-License-Identifier: GPL-2.0-or-later
# ruff: noqa: E501 - the rows of a report are as long as perf prints them
"""Real reports against Debian's kernel: what people found by hand must come out by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import linesmith

pytestmark = pytest.mark.real

# The figures of a public report on kernel 6.4, whose address_space is laid out as in 6.1; the rows are our own.
I_MMAP = """\
------------------------------------------------------------
    0    3729     5791        0        0  0xff19b3818445c740
------------------------------------------------------------
  3.27%   3.02%  0.00%  0.00%  0x18  0  1  0xffffffffa194403b   604  483  389   692  203  [k] vma_interval_tree_insert   [kernel.kallsyms]  vma_interval_tree_insert+75    0  1
  4.13%   3.63%  0.00%  0.00%  0x20  0  1  0xffffffffa19440a2   553  413  415   962  215  [k] vma_interval_tree_remove   [kernel.kallsyms]  vma_interval_tree_remove+18    0  1
  2.04%   1.35%  0.00%  0.00%  0x28  0  1  0xffffffffa219a1d6  1210  855  460  1229  222  [k] rwsem_down_write_slowpath  [kernel.kallsyms]  rwsem_down_write_slowpath+678  0  1
 33.82%  34.10%  0.00%  0.00%  0x30  0  1  0xffffffffa1770945   779  495  534  6011  224  [k] rwsem_spin_on_owner        [kernel.kallsyms]  rwsem_spin_on_owner+53         0  1
"""


def lines_of(vmlinux: Path, report: Path, *options: str) -> list[dict[str, Any]]:
    ran = linesmith("hot", vmlinux, report, "--format", "json", *options)
    assert ran.returncode == 0, ran.stderr
    lines: list[dict[str, Any]] = json.loads(ran.stdout)["lines"]
    return lines


def is_i_mmap(line: dict[str, Any]) -> None:
    one = line["objects"][0]
    assert (one["type"], one["start"], one["phase"], one["outcome"]) == ("address_space", -48, 0x10, "resolved")
    assert {member["offset"]: member["path"] for member in line["members"]} == {
        0x18: "i_mmap.rb_root",
        0x20: "i_mmap.rb_leftmost",
        0x28: "i_mmap_rwsem.count",
        0x30: "i_mmap_rwsem.owner",
    }
    pair = line["triage"]["pairs"][0]
    assert (pair["first"], pair["second"], pair["writer"]) == ("i_mmap", "i_mmap_rwsem", "i_mmap_rwsem")
    assert line["triage"]["kinds"] == ["false sharing", "lock contention"]


def test_the_i_mmap_line(vmlinux: Path, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(I_MMAP)
    is_i_mmap(lines_of(vmlinux, tmp_path / "report.txt")[0])


def test_the_i_mmap_line_with_all_newlines_lost(vmlinux: Path, tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text(" ".join(I_MMAP.split()))
    is_i_mmap(lines_of(vmlinux, tmp_path / "report.txt")[0])


def test_the_collected_report_of_the_i_mmap_line(vmlinux: Path, corpus: Path) -> None:
    is_i_mmap(lines_of(vmlinux, next(corpus.glob("c2c/002-*")))[0])


def test_the_report_as_a_mail_archive_mangled_it(vmlinux: Path, corpus: Path) -> None:
    is_i_mmap(lines_of(vmlinux, next(corpus.parent.glob("seeds/000_*")))[0])


def test_user_space_lines_are_not_laid_on_kernel_types(vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, next(corpus.glob("c2c/020-*")))
    assert lines[0]["objects"][0]["outcome"] == "user space"
    assert lines[0]["triage"]["pairs"][0]["writer"] == "0x0"


def test_unresolved_symbols_leave_the_object_unknown(vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, next(corpus.glob("c2c/026-*")))
    assert {one["outcome"] for line in lines for one in line["objects"]} <= {"no evidence", "no offsets"}


def test_every_row_ends_in_one_outcome(vmlinux: Path, corpus: Path) -> None:
    lines = lines_of(vmlinux, next(corpus.glob("c2c/010-*")))
    assert lines
    for line in lines:
        rows = sum(line["outcomes"].values())
        functions = sum(len(member["functions"]) for member in line["members"])
        assert rows >= functions
