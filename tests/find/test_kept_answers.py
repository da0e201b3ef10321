# SPDX-License-Identifier: GPL-2.0-or-later
"""What was found about a profile is kept: a command says the same whether it finds it there, damaged, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from find.lines import Built
from linesmith_command import linesmith

REPORT = Path(__file__).with_name("texts") / "report.txt"


@pytest.mark.parametrize("command", [("hot",), ("hot", "--type", "mapping"), ("suggest",)])
def test_an_answer_is_the_same_kept_damaged_or_new(command: tuple[str, ...], tmp_path: Path, built: Built) -> None:
    def said() -> tuple[int, str, str]:
        ran = linesmith(*command, built("program.c"), REPORT, "--format", "json", cache=tmp_path)
        return ran.returncode, ran.stdout, ran.stderr

    first, kept = said(), list(tmp_path.glob("*.found"))
    assert first[0] == 0
    assert kept
    assert said() == first
    for damage in (b"", b"linesmith-found1", kept[0].read_bytes()[:-9] + bytes(9)):
        for one in kept:
            one.write_bytes(damage)
        assert said() == first
        assert all(one.read_bytes() != damage for one in kept)


def test_another_profile_or_build_is_another_question(tmp_path: Path, built: Built) -> None:
    def said(elf: Path, report: Path) -> str:
        return linesmith("hot", elf, report, "--format", "json", cache=tmp_path / "cache").stdout

    other = tmp_path / "other.txt"
    other.write_text(REPORT.read_text().replace("tree_insert", "tree_first"))
    renamed = tmp_path / "renamed.txt"
    renamed.write_bytes(REPORT.read_bytes())
    program = built("program.c")
    first = said(program, REPORT)
    kept = len(list((tmp_path / "cache").glob("*.found")))
    assert said(program, renamed) == first.replace(str(REPORT), str(renamed))
    assert len(list((tmp_path / "cache").glob("*.found"))) == kept
    assert said(program, other) != first
    assert said(built("placed.c"), REPORT) != first
