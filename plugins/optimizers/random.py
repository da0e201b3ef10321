# SPDX-License-Identifier: GPL-2.0-or-later
"""Random search: points in random order, each as far up as its answers allow; what others are measured against."""

from __future__ import annotations

from linesmith.analyzer.model import Space
from linesmith.plugins.api import Optimizer
from linesmith.plugins.optimizers.ladder import OrderedSearch, SearchLadder, promising, shuffled


class Random(Optimizer):
    """The optimizer ``random``."""

    name = "random"

    def search(self, space: Space, rungs: int, seed: int, trials: int, costly: int = 2) -> OrderedSearch:
        """Begin a search; the seed decides the order."""
        return OrderedSearch(SearchLadder(space, rungs, trials, costly), iter(shuffled(space, seed)), promising)
