# SPDX-License-Identifier: GPL-2.0-or-later
"""Exhaustive search: every point in order, on every rung; for small spaces, and to know what the best is."""

from __future__ import annotations

from linesmith.analyzer.model import Space
from linesmith.plugins.api import Optimizer
from linesmith.plugins.optimizers.ladder import OrderedSearch, SearchLadder, in_order


class Exhaustive(Optimizer):
    """The optimizer ``exhaustive``."""

    name = "exhaustive"

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> OrderedSearch:  # noqa: ARG002 - the order needs no seed
        """Begin a search; it ends at the budget or with the last point, and only failures do not climb."""
        return OrderedSearch(SearchLadder(space, rungs, trials, costly), in_order(space), lambda _: True)
