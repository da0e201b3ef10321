# SPDX-License-Identifier: GPL-2.0-or-later
"""Which columns each generation of ``perf c2c report`` prints, with their headings and widths."""

from __future__ import annotations

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


def table_columns(generation: Generation, display: str) -> dict[str, Heading]:
    """The shared-lines table; ``display`` is what ``-d`` asked for."""
    first = {"Rmt": ("Rmt", "Hitm"), "Lcl": ("Lcl", "Hitm"), "Tot": ("Tot", "Hitm"), "Peer": ("Peer", "Snoop")}
    upper, lower = first[display]
    share = {"share": Heading(lower, 7, upper)}
    if generation in OLD:
        place = _old_place(generation)
        return {**place, "records": Heading("records", 7, "Total"), **share, **_OLD_COUNTS}
    snoops = _PEERS if generation is Generation.F5 else _HITMS
    stores = _STORES if generation is Generation.F3 else {**_STORES_OF_THREE}
    return {**_INDEX, **_ADDRESS, **share, **snoops, **_TOTALS, **stores, **_HITS}


def row_columns(generation: Generation, coalesced: frozenset[str], source: bool, nodes: int) -> dict[str, Heading]:
    """The distribution, without the empty column of the line's number; widths of text columns are 0."""
    old = generation is Generation.F1
    columns = {**_shares(generation), **(_OLD_OFFSET if old else _OFFSET)}
    columns |= {"pid": Heading("Pid", 7)} if "pid" in coalesced else {}
    columns |= {"tid": Heading("Tid", 0)} if "tid" in coalesced else {}
    columns |= {"code": Heading("Code address", 18)} if "iaddr" in coalesced else {}
    kind = "peer" if generation is Generation.F5 else "hitm"
    columns |= {
        "mean_rmt": Heading(f"rmt {kind}", 8, "---------- cycles ----------", 2),
        "mean_lcl": Heading(f"lcl {kind}", 8),
        "mean_load": Heading("load", 8),
    }
    columns |= {} if old else {"row_records": Heading("records", 7, "Total")}
    columns |= {"cpus": Heading("cnt", 8, "cpu")}
    columns |= {"symbol": Heading("Symbol", 0)} if "iaddr" in coalesced else {}
    columns |= {"object": Heading("Object", 0, "Shared")} if coalesced & {"iaddr", "dso"} else {}
    columns |= {"source": Heading("Source:Line", 0)} if source and "iaddr" in coalesced else {}
    return columns | {"nodes": Heading(_nodes_heading(generation, nodes), 4)}


def _nodes_heading(generation: Generation, nodes: int) -> str:
    kind = "peers" if generation is Generation.F5 else "hitms"
    return ("Node", f"Node{{cpus %{kind} %stores}}", "Node{cpu list}")[nodes]


def _old_place(generation: Generation) -> dict[str, Heading]:
    return {**_INDEX, "address": Heading("Cacheline", 18)} if generation is Generation.F1 else {**_INDEX, **_ADDRESS}


def _shares(generation: Generation) -> dict[str, Heading]:
    match generation:
        case Generation.F1 | Generation.F2:
            snoops = {"remote": Heading("Rmt", 7, "----- HITM -----", 1), "local": Heading("Lcl", 7)}
        case Generation.F5:
            snoops = {"remote": Heading("Rmt", 7, "-- Peer Snoop --", 1), "local": Heading("Lcl", 7)}
        case _:
            snoops = {"remote": Heading("RmtHitm", 7, "----- HITM -----", 1), "local": Heading("LclHitm", 7)}
    if generation in (Generation.F4, Generation.F5):
        group = Heading("L1 Hit", 7, "------- Store Refs ------", 2)
        return {**snoops, "hit": group, "miss": Heading("L1 Miss", 7), "na": Heading("N/A", 7)}
    return {**snoops, "hit": Heading("L1 Hit", 7, "-- Store Refs --", 1), "miss": Heading("L1 Miss", 7)}


_INDEX = {"index": Heading("Index", 7)}
_ADDRESS = {
    "address": Heading("Address", 18, "----------- Cacheline ----------", 2),
    "node": Heading("Node", 4),
    "pages": Heading("PA cnt", 6),
}
_OLD_OFFSET = {"offset": Heading("Offset", 18, "Data address")}
_OFFSET = {
    "offset": Heading("Offset", 18, "--------- Data address ---------", 2),
    "node": Heading("Node", 4),
    "pages": Heading("PA cnt", 6),
}
_HITMS = {
    "snoops": Heading("Total", 7, "------- Load Hitm -------", 2),
    "local": Heading("LclHitm", 7),
    "remote": Heading("RmtHitm", 7),
}
_PEERS = {
    "snoops": Heading("Total", 7, "------- Load Peer -------", 2),
    "local": Heading("Local", 7),
    "remote": Heading("Remote", 7),
}
_TOTALS = {
    "records": Heading("records", 7, "Total"),
    "loads": Heading("Loads", 7, "Total"),
    "stores": Heading("Stores", 7, "Total"),
}
_STORES = {"hit": Heading("L1Hit", 7, "---- Stores ----", 1), "miss": Heading("L1Miss", 7)}
_STORES_OF_THREE = {
    "hit": Heading("L1Hit", 7, "--------- Stores --------", 2),
    "miss": Heading("L1Miss", 7),
    "na": Heading("N/A", 7),
}
_HITS = {
    "fb": Heading("FB", 7, "----- Core Load Hit -----", 2),
    "l1": Heading("L1", 7),
    "l2": Heading("L2", 7),
    "llc": Heading("LclHit", 8, "- LLC Load Hit --", 1),
    "llc_hitm": Heading("LclHitm", 7),
    "remote_hit": Heading("RmtHit", 8, "- RMT Load Hit --", 1),
    "remote_hitm": Heading("RmtHitm", 7),
    "dram": Heading("Lcl", 8, "--- Load Dram ----", 1),
    "remote_dram": Heading("Rmt", 8),
}
_OLD_COUNTS = {
    "snoops": Heading("Total", 7, "----- LLC Load Hitm -----", 2),
    "local": Heading("Lcl", 7),
    "remote": Heading("Rmt", 7),
    "stores": Heading("Total", 7, "---- Store Reference ----", 2),
    "hit": Heading("L1Hit", 7),
    "miss": Heading("L1Miss", 7),
    "dram": Heading("Lcl", 8, "--- Load Dram ----", 1),
    "remote_dram": Heading("Rmt", 8),
    "llc_miss": Heading("Ld Miss", 7, "LLC"),
    "loads": Heading("Loads", 7, "Total"),
    "fb": Heading("FB", 7, "----- Core Load Hit -----", 2),
    "l1": Heading("L1", 7),
    "l2": Heading("L2", 7),
    "llc": Heading("Llc", 8, "-- LLC Load Hit --", 1),
    "remote_hit": Heading("Rmt", 8),
}
