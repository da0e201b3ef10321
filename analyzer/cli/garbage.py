# SPDX-License-Identifier: GPL-2.0-or-later
"""How often Python looks for values that refer to each other in a circle: seldom, since layouts never do."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# So many new values, about 10 MB, come together before Python looks for circles among them; its default is 700.
YOUNG_VALUES = 50_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """In the block circles are looked for seldom, and behind it not among what is there: the process ends.

    A tenth of the time of a command that reads many layouts went into looking for circles. An error refers to all that
    was at work, in circles: that has to go, or what is native in it is reported as leaked.
    """
    former = gc.get_threshold()
    gc.set_threshold(YOUNG_VALUES, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
    gc.freeze()
