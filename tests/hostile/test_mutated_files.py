# SPDX-License-Identifier: GPL-2.0-or-later
"""Files damaged by chance are read or refused: no crash, no traceback, 1 GiB of memory, 5 s of CPU time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hostile import mutated_elf, mutated_text
from hostile.mutation import SOUND, mutated, outcome

KINDS = {kind.name: kind for kind in (mutated_elf.KIND, *mutated_text.KINDS)}
COUNTS = {"elf": 26, "trace": 6, "intents": 12, "plan": 12}
MORE = [pytest.param(kind, 5 * count, marks=pytest.mark.study) for kind, count in COUNTS.items()]


@pytest.mark.parametrize(("kind", "count"), [*COUNTS.items(), *MORE])
def test_a_damaged_file_is_read_or_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    """The samples are damaged in turns; a seed makes the same file again."""
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "sound").mkdir()
    samples = list(KINDS[kind].samples(tmp_path / "sound"))
    wrong = []
    for number in range(count):
        sample = samples[number % len(samples)]
        seed = f"{kind} {sample.name} 2 {number}"
        became, told = outcome(KINDS[kind], sample, mutated(sample, KINDS[kind].mutations, seed), tmp_path)
        wrong += [] if became in SOUND else [(seed, became, told)]
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    assert wrong == []
