# SPDX-License-Identifier: GPL-2.0-or-later
"""No candidate for a random struct of a real kernel breaks a rule or has another layout than gcc gives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from legality.study import cases, study

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.geometry.atoms import Atom
from linesmith.analyzer.model import Layout
from linesmith.tuner import subject
from linesmith.tuner.constraints import Freedom

# tests/bench/random_structs.py asks for thousands.
SAMPLE = 50


@pytest.mark.real
@pytest.mark.parametrize("seed", [7, 8])
def test_candidates_for_random_structs_are_legal_and_compile_to_what_they_say(
    vmlinux: Path, tmp_path: Path, seed: int
) -> None:
    layouts = read_layouts(vmlinux).layouts
    found = study(cases(layouts, SAMPLE, seed), layouts, tmp_path)
    assert found.wrong == ()
    assert found.asked["structs"] == SAMPLE
    assert found.asked["candidates"] >= SAMPLE


@pytest.mark.real
def test_candidates_that_know_no_rules_are_found_out(
    vmlinux: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "freedom", lawless)
    layouts = read_layouts(vmlinux).layouts
    found = study(cases(layouts, 30, 9), layouts, tmp_path)
    assert len(found.wrong) > 10


def lawless(_: Layout, parts: tuple[Atom, ...], *__: object) -> Freedom:
    """Every order of the atoms is legal."""
    return Freedom(tuple(0 for _ in parts), ())
