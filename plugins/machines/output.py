# SPDX-License-Identifier: GPL-2.0-or-later
"""What a step printed, as text: complete, and within bounds."""

from __future__ import annotations

from pathlib import Path

# Of each stream of a step; a benchmark that says more is caught in a loop.
MOST_BYTES = 64 << 20


def text_of(output: bytes) -> str:
    r"""The bytes as text; those that are no UTF-8 are spelt out (``\xff``), so that it can be written anywhere."""
    return output.decode("utf-8", "backslashreplace")


def read_output(path: Path) -> str:
    """The text in the file of a step's output; empty where the step never came to print."""
    try:
        with path.open("rb") as file:
            return text_of(file.read(MOST_BYTES))
    except FileNotFoundError:
        return ""
