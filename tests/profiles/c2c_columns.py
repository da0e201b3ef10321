# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of ``perf c2c report``, by the releases of perf between which they changed (``builtin-c2c.c``)."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Generation(Enum):
    """The releases of perf between which the columns changed."""

    F1 = "4.10 to 4.18"
    F2 = "4.19 to 5.10"
    F3 = "5.11 to 5.18"
    F4 = "from 5.19"
    F5 = "from 6.0, peer display"


OLD = (Generation.F1, Generation.F2)


class Heading(NamedTuple):
    """The lower and the upper heading of a column; the upper one spans ``span`` further columns."""

    lower: str
    width: int
    upper: str = ""
    span: int = 0


def _columns(text: str) -> dict[str, Heading]:
    """``UPPER > NAME=LOWER:WIDTH ...``, an upper heading with the columns that it spans, a line each."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        upper, _, columns = line.rpartition(" > ")
        for name, lower, width in re.findall(r"(\w+)=(.*?):(\d+)(?= \w+=|$)", columns):
            found[name] = Heading(lower, int(width))
        if upper:
            name, span = columns.partition("=")[0], columns.count("=") - 1
            found[name] = found[name]._replace(upper=upper, span=span)
    return found


def table_columns(generation: Generation, display: str) -> dict[str, Heading]:
    """The shared-lines table; ``display`` is what ``-d`` asked for."""
    share = {"share": Heading("Snoop", 7, "Peer") if display == "Peer" else Heading("Hitm", 7, display)}
    if generation in OLD:
        place = _columns("address=Cacheline:18") if generation is Generation.F1 else _ADDRESS
        return {**_INDEX, **place, **_columns("Total > records=records:7"), **share, **_OLD_COUNTS}
    snoops = _PEERS if generation is Generation.F5 else _HITMS
    stores = _STORES if generation is Generation.F3 else _STORES_OF_THREE
    return {**_INDEX, **_ADDRESS, **share, **snoops, **_TOTALS, **stores, **_HITS}


def row_columns(generation: Generation, coalesced: frozenset[str], source: bool, nodes: int) -> dict[str, Heading]:
    """The distribution, without the empty column of the line's number; widths of text columns are 0."""
    old = generation is Generation.F1
    kind = "peer" if generation is Generation.F5 else "hitm"
    by_code = "iaddr" in coalesced
    last = ("Node", f"Node{{cpus %{kind}s %stores}}", "Node{cpu list}")[nodes]
    parts = {
        _SHARES[generation]: True,
        "Data address > offset=Offset:18" if old else _OFFSET: True,
        "pid=Pid:7": "pid" in coalesced,
        "tid=Tid:0": "tid" in coalesced,
        "code=Code address:18": by_code,
        f"---------- cycles ---------- > mean_rmt=rmt {kind}:8 mean_lcl=lcl {kind}:8 mean_load=load:8": True,
        "Total > row_records=records:7": not old,
        "cpu > cpus=cnt:8": True,
        "symbol=Symbol:0": by_code,
        "Shared > object=Object:0": bool(coalesced & {"iaddr", "dso"}),
        "source=Source:Line:0": source and by_code,
    }
    return _columns("\n".join(part for part, shown in parts.items() if shown)) | {"nodes": Heading(last, 4)}


_STORE_SHARES = "-- Store Refs -- > hit=L1 Hit:7 miss=L1 Miss:7"
_STORE_SHARES_OF_THREE = "------- Store Refs ------ > hit=L1 Hit:7 miss=L1 Miss:7 na=N/A:7"
_OLD_SHARES = f"----- HITM ----- > remote=Rmt:7 local=Lcl:7\n{_STORE_SHARES}"
_HITM_SHARES = "----- HITM ----- > remote=RmtHitm:7 local=LclHitm:7\n"
_SHARES = {
    Generation.F1: _OLD_SHARES,
    Generation.F2: _OLD_SHARES,
    Generation.F3: _HITM_SHARES + _STORE_SHARES,
    Generation.F4: _HITM_SHARES + _STORE_SHARES_OF_THREE,
    Generation.F5: f"-- Peer Snoop -- > remote=Rmt:7 local=Lcl:7\n{_STORE_SHARES_OF_THREE}",
}
_OFFSET = "--------- Data address --------- > offset=Offset:18 node=Node:4 pages=PA cnt:6"
_INDEX = _columns("index=Index:7")
_ADDRESS = _columns("----------- Cacheline ---------- > address=Address:18 node=Node:4 pages=PA cnt:6")
_HITMS = _columns("------- Load Hitm ------- > snoops=Total:7 local=LclHitm:7 remote=RmtHitm:7")
_PEERS = _columns("------- Load Peer ------- > snoops=Total:7 local=Local:7 remote=Remote:7")
_TOTALS = _columns("Total > records=records:7\nTotal > loads=Loads:7\nTotal > stores=Stores:7")
_STORES = _columns("---- Stores ---- > hit=L1Hit:7 miss=L1Miss:7")
_STORES_OF_THREE = _columns("--------- Stores -------- > hit=L1Hit:7 miss=L1Miss:7 na=N/A:7")
_HITS = _columns("""
    ----- Core Load Hit ----- > fb=FB:7 l1=L1:7 l2=L2:7
    - LLC Load Hit -- > llc=LclHit:8 llc_hitm=LclHitm:7
    - RMT Load Hit -- > remote_hit=RmtHit:8 remote_hitm=RmtHitm:7
    --- Load Dram ---- > dram=Lcl:8 remote_dram=Rmt:8
""")
_OLD_COUNTS = _columns("""
    ----- LLC Load Hitm ----- > snoops=Total:7 local=Lcl:7 remote=Rmt:7
    ---- Store Reference ---- > stores=Total:7 hit=L1Hit:7 miss=L1Miss:7
    --- Load Dram ---- > dram=Lcl:8 remote_dram=Rmt:8
    LLC > llc_miss=Ld Miss:7
    Total > loads=Loads:7
    ----- Core Load Hit ----- > fb=FB:7 l1=L1:7 l2=L2:7
    -- LLC Load Hit -- > llc=Llc:8 remote_hit=Rmt:8
""")
