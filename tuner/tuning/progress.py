# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user hears while a run goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linesmith.analyzer.model import Fidelity


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: ``doing`` is a sentence without its full stop, ``running`` names the tasks under way.

    ``trials`` of ``budget`` have been judged on the upper fidelities. ``best`` is the variant with the lowest ``cost``
    (a ratio to the baseline) on ``rung``, the highest one reached so far; it is not confirmed yet. ``seconds`` of
    ``limit`` have been spent.
    """

    doing: str
    running: tuple[str, ...] = ()
    trials: int = 0
    budget: int = 0
    best: str | None = None
    cost: float | None = None
    rung: Fidelity | None = None
    seconds: float = 0.0
    limit: float = 0.0


TellProgress = Callable[[Progress], None]
