# SPDX-License-Identifier: GPL-2.0-or-later
"""Suppressions that can accept nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_source import compiled
from hand_made import scalar, struct, table
from linesmith_command import linesmith

from linesmith.analyzer.lint.misnamed import misnamed
from linesmith.analyzer.model import Suppression

PIPE = struct("pipe", scalar("head"), scalar("tail"))


def told(rule: str = "straddle", record: str = "pipe", member: str = "*") -> list[str]:
    found = misnamed([Suppression(rule, record, "cold", member, place="linesmith.toml:7")], table(PIPE))
    return [f"{one.file}:{one.line}: {one.type}: {one.message}" for one in found]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"rule": "stradle"}, "no rule is called stradle; did you mean straddle?"),
        ({"rule": "nothing-like-it"}, "no rule is called nothing-like-it"),
        ({"record": "pype"}, "no struct or union is called so; did you mean pipe?"),
        ({"member": "haed"}, "haed is not there; did you mean head?"),
    ],
)
def test_what_is_not_called_so_is_told_with_the_nearest_name(names: dict[str, str], said: str) -> None:
    (one,) = told(**names)
    assert one.startswith(f"linesmith.toml:7: {names.get('record', 'pipe')}: the suppression of ")
    assert one.endswith(f" accepts nothing: {said}")


@pytest.mark.parametrize(
    "names", [{}, {"rule": "s*"}, {"record": "struct pipe"}, {"record": "x*"}, {"member": "x*"}, {"member": "tail"}]
)
def test_what_is_there_and_patterns_are_not_told(names: dict[str, str]) -> None:
    assert told(**names) == []


def test_checking_a_file_tells_them(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text('[[suppress]]\nrule = "straddle"\ntype = "pype"\nreason = "cold"\n')
    elf = compiled(tmp_path, "struct pipe { long head, tail; } pipe;", name="pipe")
    done = linesmith("intent", elf, "--check", "--tree", tmp_path)
    assert done.returncode == 1
    assert "linesmith.toml:1: WARNING: pype: the suppression of straddle accepts nothing: no struct" in done.stdout
