# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks run for real, on this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

from linesmith.analyzer.model import Built, Setting, Site
from linesmith.plugins.registry import benchmark, machine


def measured(name: str, settings: dict[str, Setting], threads: int, scratch: Path) -> dict[str, float]:
    """The values of one run; programs are kept in ``scratch``."""
    tested = benchmark(name)
    assert tested.obstacle(settings) is None
    steps = tested.steps(settings, threads, scratch)
    folder = Path(tempfile.mkdtemp(dir=scratch))
    session = machine("here").run(Site("here"), Built("", folder, ()), steps, folder, lambda _: None)
    values = dict(tested.parse(settings, session.done))
    assert list(values) == [metric.name for metric in tested.metrics(settings)]
    return values
