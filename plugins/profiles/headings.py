# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the heading lines that name the columns of a report; mails often keep them, commit messages never do."""

from __future__ import annotations

from dataclasses import dataclass

from linesmith.plugins.profiles.columns import DISTRIBUTION, TABLE_FORMS, Columns, Shape
from linesmith.plugins.profiles.tokens import Cursor

_LONGEST_LABEL = 3
_FEWEST_COLUMNS = 4
_MOST_TABLE_WORDS = 32
_FIRST_WORDS = frozenset(label.split()[0] for column in DISTRIBUTION for label in column.labels)
_TABLE_LABELS = frozenset(
    word
    for form in TABLE_FORMS
    for label in ("Index", "Address", "Cacheline", "Node", "PA cnt", "Hitm", "Snoop", "Peer", *form.labels)
    for word in label.split()
)


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns that a heading names; ``peer`` tells whether remote and local mean peer snoops."""

    columns: Columns
    peer: bool
    words: int


def read_heading(cursor: Cursor, behind_peer_snoop: bool) -> Heading | None:
    """The heading of the distribution that begins at the cursor, or ``None``.

    ``behind_peer_snoop``: the upper of the two heading lines spoke of peer snoops.
    """
    start = 1 if cursor.peek().text == "Num" else 0
    columns: list[tuple[int, str]] = []
    at, last = start, -1
    while (found := _column(cursor, at, last)) is not None:
        last, label, words = found
        columns.append((last, label))
        at += words
    chosen = tuple(DISTRIBUTION[index] for index, _ in columns)
    if len(chosen) < _FEWEST_COLUMNS or not any(column.shape is Shape.SHARE for column in chosen):
        return None
    labels = {label for _, label in columns}
    peer = bool(labels & {"rmt peer", "lcl peer"}) or (behind_peer_snoop and "RmtHitm" not in labels)
    return Heading(chosen, peer, at)


def _column(cursor: Cursor, at: int, last: int) -> tuple[int, str, int] | None:
    """The next column behind number ``last``, its label and the label's words; longest label first."""
    if cursor.peek(at).text not in _FIRST_WORDS:
        return None
    for words in range(_LONGEST_LABEL, 0, -1):
        label = " ".join(cursor.peek(at + ahead).text for ahead in range(words))
        for index in range(last + 1, len(DISTRIBUTION)):
            if label in DISTRIBUTION[index].labels:
                return index, label, words
    return None


def table_heading(cursor: Cursor) -> tuple[int, bool] | None:
    """Words of the low heading line of the shared-lines table at the cursor, and whether it counts peers."""
    if cursor.peek().text != "Index" or cursor.peek(1).text not in ("Address", "Cacheline"):
        return None
    words = 0
    while words < _MOST_TABLE_WORDS and cursor.peek(words).text in _TABLE_LABELS:
        words += 1
    return words, any(cursor.peek(at).text in ("Snoop", "Remote") for at in range(words))
