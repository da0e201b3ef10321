# SPDX-License-Identifier: GPL-2.0-or-later
"""Files damaged by chance are read or refused: no crash, no traceback, 1 GiB of memory, 5 s of CPU time.

A sample of what ``mutations.py`` makes, which reads thousands.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.mutation import SOUND
from hostile.mutations import KINDS, trials

COUNTS = {"elf": 26, "index": 20, "profile": 16, "trace": 6, "intents": 12, "plan": 12}
MORE = [pytest.param(kind, 5 * count, marks=pytest.mark.study) for kind, count in COUNTS.items()]


@pytest.mark.parametrize(("kind", "count"), [*COUNTS.items(), *MORE])
def test_a_damaged_file_is_read_or_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    found = [(trial.seed, trial.outcome, trial.told) for trial in trials(KINDS[kind], count, 2, tmp_path)]
    assert [one for one in found if one[1] not in SOUND] == []
