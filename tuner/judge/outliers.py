# SPDX-License-Identifier: GPL-2.0-or-later
"""Values far from their variant's others: they are shown and count like any, for they may be the effect itself.

Source: the boxplot's far-out fences of Tukey, "Exploratory Data Analysis" (1977).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FENCE = 3.0
FEWEST = 6


def outliers(values: Sequence[float]) -> tuple[float, ...]:
    """Those more than three interquartile ranges away from the middle half, in the order given.

    Fewer than six values have no middle half to speak of: none of them is called an outlier.
    """
    if len(values) < FEWEST:
        return ()
    low, high = np.quantile(values, (0.25, 0.75))
    reach = FENCE * (high - low)
    return tuple(value for value in values if value < low - reach or value > high + reach)
