# SPDX-License-Identifier: GPL-2.0-or-later
"""A search whose time is over while its points are still being judged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from tuning.project import silent

from linesmith.analyzer.model import Dimension, Fidelity, Point, Space, Trial
from linesmith.plugins.optimizers.exhaustive import Exhaustive
from linesmith.tuner.tuning.exploration import Exploration
from linesmith.tuner.tuning.journal import Journal
from linesmith.tuner.tuning.narration import Narration

TWO = Space((Dimension("place of the lock", ("as it is", "last")),))


@dataclass
class Slow:
    """A rung on which every build takes longer than there is time; ``left`` says whether there is any."""

    left: bool = True
    answer: Trial | None = None
    fidelity: Fidelity = Fidelity.SIMULATION

    async def judge(self, point: Point) -> Trial | None:  # noqa: ARG002 - as rungs have it
        self.left = False
        return self.answer


def test_points_that_were_built_and_never_measured_are_told_to_be_cut_off(tmp_path: Path) -> None:
    """All points of the budget had been asked for, so that there was nothing left to ask."""
    journal, rung = Journal.create(tmp_path / "journal.sqlite", tmp_path), Slow()
    search = Exhaustive().search(TWO, 1, 1, 2, 1)
    exploration = Exploration([rung], search, journal, Narration(silent, journal, 60.0), 2)
    asyncio.run(exploration.run(2, lambda: rung.left))
    ((said,),) = journal.rows("SELECT sentence FROM remarks")
    assert str(said).startswith("the time was over before the first trial came to its end; the search goes on")
    journal.close()
