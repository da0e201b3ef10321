# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``docs/json.md`` says of a command's document."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "json.md"


def page_of(command: str) -> str:
    """The section of the command."""
    _, found, behind = PAGE.read_text().partition(f"\n## `linesmith {command} --format json`\n")
    assert found, command
    return behind.partition("\n## ")[0]
