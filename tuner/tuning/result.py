# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's result, read from its journal: at its end, in its midst, or after it was killed."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.model import Result


def read_result(path: Path) -> Result:
    """What the run in the directory ``path`` has found so far; the run may be in progress. Raises ``JournalError``."""
    raise NotImplementedError
