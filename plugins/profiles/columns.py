# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of ``perf c2c report`` by perf's own names (``tools/perf/builtin-c2c.c``, the ``dim_*`` tables)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from linesmith.plugins.profiles.tokens import Cursor, Kind


class Shape(Enum):
    """What the cell of a column looks like."""

    SHARE = auto()
    ADDRESS = auto()
    NODE = auto()
    COUNT = auto()
    PROCESS = auto()
    SYMBOL = auto()
    OBJECT = auto()
    SOURCE = auto()
    NODES = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column, of which there is one object.

    ``name`` is perf's, ``shape`` that of a cell, ``value`` what it fills (``""``: not kept), ``labels`` its headings.
    """

    name: str
    shape: Shape
    value: str = ""
    labels: tuple[str, ...] = ()


Columns = tuple[Column, ...]

# The distribution ("Pareto"). A share column is a share of the line's raw total of the same value.
RMT_HITM = Column("percent_rmt_hitm", Shape.SHARE, "remote", ("RmtHitm", "Rmt"))
LCL_HITM = Column("percent_lcl_hitm", Shape.SHARE, "local", ("LclHitm", "Lcl"))
ANY_PEER = Column("percent_peer", Shape.SHARE, "", ("Peer",))
LCL_HIT = Column("percent_lcl_hit", Shape.SHARE, "", ("LclHit",))
LOAD_HIT = Column("percent_load_hit", Shape.SHARE, "", ("Hit",))
LOAD_MISS = Column("percent_load_miss", Shape.SHARE, "", ("Miss",))
L1_HIT = Column("percent_stores_l1hit", Shape.SHARE, "stores_l1_hit", ("L1 Hit", "L1Hit"))
L1_MISS = Column("percent_stores_l1miss", Shape.SHARE, "stores_l1_miss", ("L1 Miss", "L1Miss"))
STORES_NA = Column("percent_stores_na", Shape.SHARE, "stores_na", ("N/A", "Any Lvl", "Anylvl"))
OFFSET = Column("offset", Shape.ADDRESS, "offset", ("Offset", "Off"))
OFFSET_NODE = Column("offset_node", Shape.NODE, "", ("Node",))
PAGES = Column("dcacheline_count", Shape.COUNT, "", ("PA cnt",))
PID = Column("pid", Shape.PROCESS, "process", ("Pid",))
TID = Column("tid", Shape.PROCESS, "process", ("Tid",))
CODE = Column("iaddr", Shape.ADDRESS, "code_address", ("Code address",))
MEAN_RMT = Column("mean_rmt", Shape.COUNT, "cycles_remote", ("rmt hitm", "rmt peer"))
MEAN_LCL = Column("mean_lcl", Shape.COUNT, "cycles_local", ("lcl hitm", "lcl peer"))
MEAN_LOAD = Column("mean_load", Shape.COUNT, "cycles_load", ("load",))
MEAN_PEER = Column("mean_peer", Shape.COUNT, "", ("peer",))
RECORDS = Column("tot_recs", Shape.COUNT, "records", ("records",))
CPUS = Column("cpucnt", Shape.COUNT, "cpus", ("cnt",))
SYMBOL = Column("symbol", Shape.SYMBOL, "function", ("Symbol",))
OBJECT = Column("dso", Shape.OBJECT, "object_file", ("Object",))
SOURCE = Column("cl_srcline", Shape.SOURCE, "source", ("Source:Line",))
NODES = Column(
    "node",
    Shape.NODES,
    "nodes",
    ("Node{cpu list}", "Node{cpus %hitms %stores}", "Node{cpus %peers %stores}", "Node{cpus %loads %stores}", "Node"),
)
UNNAMED_SHARE = Column("unnamed share", Shape.SHARE, "?")
UNNAMED_COUNT = Column("unnamed count", Shape.COUNT)
NUMBER = Column("cl_num_empty", Shape.COUNT, "", ("Num",))

# What columns of stores count.
STORES = tuple(column.value for column in (L1_HIT, L1_MISS, STORES_NA))

# In the order in which perf prints them, so that "Node" is the offset's before it is the list of nodes.
DISTRIBUTION: Columns = (
    LCL_HIT, RMT_HITM, LCL_HITM, ANY_PEER, LOAD_HIT, LOAD_MISS, L1_HIT, L1_MISS, STORES_NA, OFFSET, OFFSET_NODE,
    PAGES, PID, TID, CODE,
    MEAN_RMT, MEAN_LCL, MEAN_LOAD, MEAN_PEER, RECORDS, CPUS, SYMBOL, OBJECT, SOURCE, NODES,
)  # fmt: skip

# Share columns by how many a row has: perf up to 5.18, from 5.19 on, and the series that had peers beside HITM.
SHARES: dict[int, Columns] = {
    4: (RMT_HITM, LCL_HITM, L1_HIT, L1_MISS),
    5: (RMT_HITM, LCL_HITM, L1_HIT, L1_MISS, STORES_NA),
    6: (RMT_HITM, LCL_HITM, ANY_PEER, L1_HIT, L1_MISS, STORES_NA),
}
# The counts in front of the symbol, by how many there are: up to 4.18 there were no records.
COUNTS: dict[int, Columns] = {
    4: (MEAN_RMT, MEAN_LCL, MEAN_LOAD, CPUS),
    5: (MEAN_RMT, MEAN_LCL, MEAN_LOAD, RECORDS, CPUS),
    6: (MEAN_RMT, MEAN_LCL, MEAN_LOAD, MEAN_PEER, RECORDS, CPUS),
}


@dataclass(frozen=True, slots=True)
class TableForm:
    """One generation of the shared-lines table: what stands between address and share, and what follows.

    ``labels`` are the low headings behind the share, ``values`` what each count is (``""``: not kept).
    """

    name: str
    before: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[str, ...]
    peer: bool = False


_OLD_LABELS = (
    "Total", "Lcl", "Rmt", "Total", "L1Hit", "L1Miss", "Lcl", "Rmt", "Ld Miss", "Loads", "FB", "L1", "L2", "Llc", "Rmt",
)  # fmt: skip
_OLD_VALUES = (
    "total", "local", "remote", "stores", "stores_l1_hit", "stores_l1_miss", "", "", "", "loads", "", "", "", "", "",
)  # fmt: skip
_HITS = ("FB", "L1", "L2", "LclHit", "LclHitm", "RmtHit", "RmtHitm", "Lcl", "Rmt")
_HIT_VALUES = ("", "", "", "", "llc_hitm", "", "rmt_hitm", "", "")
_NEW_LABELS = ("records", "Loads", "Stores", "L1Hit", "L1Miss")
_NEW_VALUES = ("total", "local", "remote", "records", "loads", "stores", "stores_l1_hit", "stores_l1_miss")
_HITM = ("Total", "LclHitm", "RmtHitm")
_PEER = ("Total", "Local", "Remote")

TABLE_FORMS = (
    TableForm("4.10 to 4.18", ("records",), _OLD_LABELS, _OLD_VALUES),
    TableForm("4.19 to 5.10", ("", "", "records"), _OLD_LABELS, _OLD_VALUES),
    TableForm("5.11 to 5.18", ("", ""), (*_HITM, *_NEW_LABELS, *_HITS), (*_NEW_VALUES, *_HIT_VALUES)),
    TableForm("from 5.19", ("", ""), (*_HITM, *_NEW_LABELS, "N/A", *_HITS), (*_NEW_VALUES, "stores_na", *_HIT_VALUES)),
    TableForm(
        "peer display",
        ("", ""),
        (*_PEER, *_NEW_LABELS, "N/A", *_HITS),
        (*_NEW_VALUES, "stores_na", *_HIT_VALUES),
        peer=True,
    ),
)


def table_form(before: int, counts: int, peer: bool | None) -> TableForm | None:
    """The generation whose rows have ``before`` cells between address and share and ``counts`` behind it."""
    for form in TABLE_FORMS:
        if (len(form.before), len(form.values)) == (before, counts) and form.peer is bool(peer):
            return form
    return None


# Reads the heading lines that name the columns of a report; mails often keep them, commit messages never do.

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


# Reads the headings that authors write over the columns that they kept: perf's words, in columns of their own.

_MOST_WORDS = 96
# The words over each column, in perf's order of the columns: one of each set stands there.
_WORDS: tuple[tuple[Column, tuple[frozenset[str], ...]], ...] = (
    (RMT_HITM, (frozenset(("rmt", "remote")),)),
    (LCL_HITM, (frozenset(("lcl", "local")),)),
    (L1_HIT, (frozenset(("l1",)), frozenset(("hit",)))),
    (L1_MISS, (frozenset(("l1",)), frozenset(("miss",)))),
    (STORES_NA, (frozenset(("n/a",)),)),
    (OFFSET, (frozenset(("offset", "off")),)),
    (CODE, (frozenset(("code",)),)),
    (MEAN_LOAD, (frozenset(("load",)), frozenset(("cycles",)))),
    (RECORDS, (frozenset(("records",)),)),
    (CPUS, (frozenset(("cnt", "cpu", "cpus")),)),
    (SYMBOL, (frozenset(("symbol", "function")),)),
    (OBJECT, (frozenset(("object",)),)),
    (SOURCE, (frozenset(("source:line",)),)),
    (NODES, (frozenset(("node", "nodes")),)),
)
# Words that stand over several columns, or beside the one that tells.
_BESIDE = frozenset(("hitm", "store", "stores", "data", "address", "total", "shared", "peer", "snoop"))
_KNOWN = _BESIDE.union(*(choice for _, words in _WORDS for choice in words))


def read_own_heading(cursor: Cursor) -> Heading | None:
    """The heading at the cursor that is not perf's own, or ``None``: words of columns only, one of them the symbol's.

    It may stand on several lines, between rules or not. Where the rows have other columns than it names, they are
    read by their own shape.
    """
    if _word(cursor, 0) not in _KNOWN:
        return None
    words: set[str] = set()
    at = 0
    while at < _MOST_WORDS and (cursor.peek(at).kind is Kind.DASHES or _word(cursor, at) in _KNOWN):
        words.add(_word(cursor, at))
        at += 1
    columns = tuple(column for column, named in _WORDS if all(words & choice for choice in named))
    if len(columns) < _FEWEST_COLUMNS or SYMBOL not in columns or columns[0].shape is not Shape.SHARE:
        return None
    return Heading(columns, "peer" in words, at)


def _word(cursor: Cursor, at: int) -> str:
    return cursor.peek(at).text.lower().strip("%")
