# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of the lines of a text."""

from __future__ import annotations


class Lines:
    """Counts the lines of one text; asked for places in rising order, it reads the text once."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._place = 0
        self._breaks = 0

    def number(self, offset: int) -> int:
        """The line of a byte offset, counted from 1."""
        if offset < self._place:
            self._place = self._breaks = 0
        self._breaks += self._text.count(b"\n", self._place, offset)
        self._place = offset
        return self._breaks + 1
