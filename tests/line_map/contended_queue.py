# SPDX-License-Identifier: GPL-2.0-or-later
"""A program with a contended queue, and what perf c2c printed of it."""

from __future__ import annotations

from pathlib import Path

from c_source import compiled

SOURCES = Path(__file__).with_name("sources")
REPORT = (SOURCES / "report.txt").read_text()


def program(folder: Path) -> Path:
    return compiled(folder, (SOURCES / "program.c").read_text(), "-O1", name="program")


def report(folder: Path) -> Path:
    path = folder / "report.txt"
    path.write_text(REPORT)
    return path
