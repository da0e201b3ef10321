# SPDX-License-Identifier: GPL-2.0-or-later
"""No candidate for a random struct of a real kernel breaks a rule or has another layout than gcc gives it."""

from __future__ import annotations

from pathlib import Path

import pytest
from legality.study import study

from linesmith.analyzer.dwarf import read_layouts

# tests/bench/random_structs.py asks for thousands.
SAMPLE = 100


@pytest.mark.real
@pytest.mark.parametrize("seed", [7, 8])
def test_candidates_for_random_structs_are_legal_and_compile_to_what_they_say(
    vmlinux: Path, tmp_path: Path, seed: int
) -> None:
    found = study(read_layouts(vmlinux).layouts, SAMPLE, seed, tmp_path)
    assert found.wrong == []
    assert found.structs == SAMPLE
    assert found.candidates >= SAMPLE
