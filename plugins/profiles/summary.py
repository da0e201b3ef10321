# SPDX-License-Identifier: GPL-2.0-or-later
"""The counts above the tables, by the names that perf prints (``print_c2c__display_stats`` and its neighbours)."""

from __future__ import annotations

import re

from linesmith.plugins.profiles.pieces import Event, Section, Total
from linesmith.plugins.profiles.tokens import Cursor, Kind

KEYS = (
    "Total records", "Locked Load/Store Operations", "Load Operations", "Loads - uncacheable", "Loads - IO",
    "Loads - Miss", "Loads - no mapping", "Load Fill Buffer Hit", "Load L1D hit", "Load L2D hit", "Load LLC hit",
    "Load Local HITM", "Load Remote HITM", "Load Remote HIT", "Load Local DRAM", "Load Remote DRAM",
    "Load MESI State Exclusive", "Load MESI State Shared", "Load LLC Misses", "Load access blocked by data",
    "Load access blocked by address", "Load HIT Local Peer", "Load HIT Remote Peer", "Store Operations",
    "Store - uncacheable", "Store - no mapping", "Store L1D Hit", "Store L1D Miss", "Store No available memory level",
    "No Page Map Rejects", "Unable to parse data source", "Total Shared Cache Lines", "Load HITs on shared lines",
    "Fill Buffer Hits on shared lines", "L1D hits on shared lines", "L2D hits on shared lines",
    "LLC hits on shared lines", "Load hits on peer cache or nodes", "Locked Access on shared lines",
    "Blocked Access on shared lines", "Store HITs on shared lines", "Store L1D hits on shared lines",
    "Total Merged records",
)  # fmt: skip

# PMU, terms between slashes, modifiers: cpu/mem-loads,ldlat=30/P
_EVENT = re.compile(r"\w{1,40}/[^/]{0,300}/\w{0,10}", re.ASCII)

_BY_FIRST_WORD: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
for _key in (*KEYS, *(section.value for section in Section)):
    _BY_FIRST_WORD.setdefault(_key.split()[0], []).append((_key, tuple(_key.split())))


def known_words(cursor: Cursor) -> tuple[str, int] | None:
    """The longest key or section title that begins at the cursor, and its number of words."""
    best: tuple[str, int] | None = None
    for key, words in _BY_FIRST_WORD.get(cursor.peek().text, ()):
        same = all(cursor.peek(at).text == word for at, word in enumerate(words))
        if same and (best is None or len(words) > best[1]):
            best = key, len(words)
    return best


def read_total(cursor: Cursor) -> tuple[Total, int] | None:
    """The ``key : count`` at the cursor and the words it took; a share of misses is no count."""
    known = known_words(cursor)
    if known is None:
        return None
    key, words = known
    if cursor.peek(words).text != ":" or cursor.peek(words + 1).kind is not Kind.INTEGER:
        return None
    return Total(key, int(cursor.peek(words + 1).text), cursor.peek().line), words + 2


def read_event(cursor: Cursor) -> tuple[Event, int] | None:
    """The event behind ``Events :`` or behind the colon of a line below it, and the words it took."""
    words = 1 if cursor.peek().text == "Events" else 0
    name = cursor.peek(words + 1).text
    if cursor.peek(words).text != ":" or not _EVENT.fullmatch(name):
        return None
    return Event(name), words + 2
