# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder for what is only needed for a while."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linesmith.plugins.machines.child import undisturbed


@contextmanager
def scratch(prefix: str = "linesmith-") -> Iterator[Path]:
    """An empty folder for as long as the block lasts, by a path without links.

    It goes even where a signal ends us while it is made, or while it is being removed.
    """
    with undisturbed():
        made = tempfile.TemporaryDirectory(prefix=prefix)
    try:
        yield Path(made.name).resolve()
    finally:
        with undisturbed():
            made.cleanup()
