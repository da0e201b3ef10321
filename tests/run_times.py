# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a test run spent its time: the folders of ``tests`` against what one may take, and the slowest tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import pytest

# 40 s of waiting for two workers; a folder that takes more holds up whoever has changed what it tests.
BUDGET_SECONDS = 80
_SLOWEST = 20
_WORTH_SECONDS = 1.0


def table(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    """The lines to print: seconds with what was set up and taken down, folders first; nothing for a short run."""
    tests: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        tests[report.nodeid] += report.duration
    folders: defaultdict[str, float] = defaultdict(float)
    for name, seconds in tests.items():
        folders[_folder(name)] += seconds
    slow = [(name, seconds) for name, seconds in _longest(tests)[:_SLOWEST] if seconds >= _WORTH_SECONDS]
    if not slow:
        return
    for folder, seconds in _longest(folders):
        if seconds >= _WORTH_SECONDS:
            over = f"  more than the {BUDGET_SECONDS} s of a folder" if seconds > BUDGET_SECONDS else ""
            yield f"{seconds:8.1f} s  {folder}{over}"
    yield f"the {len(slow)} slowest tests:"
    yield from (f"{seconds:8.1f} s  {name}" for name, seconds in slow)


def _longest(seconds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda one: one[1], reverse=True)


def _folder(name: str) -> str:
    return str(PurePosixPath(*PurePosixPath(name.partition("::")[0]).parts[:2]))
