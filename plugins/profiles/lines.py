# SPDX-License-Identifier: GPL-2.0-or-later
"""A line of text that remembers where it came from."""

from __future__ import annotations

from typing import NamedTuple


class TextLine(NamedTuple):
    """A line of the text as the report's author saw it; ``number`` is its first line in the input, from 1."""

    number: int
    text: str
