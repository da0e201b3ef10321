# SPDX-License-Identifier: GPL-2.0-or-later
"""Renders reports as ``perf c2c report`` of any release does, from its column definitions (``builtin-c2c.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
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


RULES = {4: 61, 5: 70, 6: 79}
SYMBOL_WIDTH = 30
_CL = "------- CL --------"


@dataclass(frozen=True)
class Options:
    """What the person who ran perf chose; ``nodes``: how often ``-N``, ``coalesced``: the words of ``-c``."""

    generation: Generation = Generation.F4
    coalesced: frozenset[str] = frozenset({"iaddr"})
    source: bool = True
    nodes: int = 0
    full: bool = False
    display: str = "Tot"
    double: bool = False
    window: bool = False

    @property
    def shares(self) -> int:
        return 5 if self.generation in (Generation.F4, Generation.F5) else 4


@dataclass(frozen=True)
class RowSpec:
    """What perf counted for one offset and instruction; ``counts``: remote, local, then stores by level."""

    offset: int
    counts: tuple[int, ...]
    code: int
    symbol: str
    object_file: str
    source: str
    mode: str = "k"
    cycles: tuple[int, int, int] = (0, 0, 0)
    records: int = 1
    cpus: int = 1
    nodes: tuple[int, ...] = (0,)
    pid: int = 4711
    comm: str = "worker"
    pages: tuple[str, int] = ("0", 1)
    graph: str = ""


@dataclass(frozen=True)
class LineSpec:
    address: int
    rows: tuple[RowSpec, ...]

    def totals(self, shares: int) -> tuple[int, ...]:
        return tuple(sum(row.counts[at] for row in self.rows) for at in range(shares))


@dataclass(frozen=True)
class ReportSpec:
    lines: tuple[LineSpec, ...]
    options: Options = field(default_factory=Options)


def render(report: ReportSpec) -> str:
    """The table and the distribution with their titles and headings, or the windows that show them."""
    if report.options.window:
        return "\n".join((*_table_window(report), *_line_windows(report))) + "\n"
    title = _titled("     Shared Data Cache Line Table          ")
    return "\n".join((*title, *table(report), "", *pareto(report))) + "\n"


def pareto(report: ReportSpec) -> Iterator[str]:
    """The distribution, as ``print_pareto`` prints it."""
    yield from _titled("      Shared Cache Line Distribution Pareto      ")
    columns = _fitted(report)
    yield from _headings({"number": Heading("Num", 5), **columns}, "# ")
    rule = "  " + "-" * RULES[report.options.shares]
    for rank, line in enumerate(report.lines):
        if rank:
            yield ""
        totals = line.totals(report.options.shares)
        yield rule
        yield "  " + "  ".join((f"{rank:5d}", *(f"{count:7d}" for count in totals), f"{hex(line.address):>18}"))
        yield rule
        yield from _rows(line, report.options, columns, " " * 7 + "  ")


def table(report: ReportSpec) -> Iterator[str]:
    """The shared-lines table with the columns of the report's generation."""
    columns = _table_columns(report.options)
    yield from _headings(columns, "# ", first_width=5)
    for rank, line in enumerate(report.lines):
        cells = _table_cells(rank, line, report)
        yield "  ".join(f"{cells[name]:>{heading.width}}" for name, heading in columns.items())


def _table_window(report: ReportSpec) -> Iterator[str]:
    """The window that lists the lines: no marks in front of the headings."""
    yield f"Shared Data Cache Line Table     ({len(report.lines)} entries, sorted on Total HITMs)"
    yield from (line.replace("#", " ", 1) for line in table(report) if line.strip("# ."))


def _line_windows(report: ReportSpec) -> Iterator[str]:
    """The windows behind the lines, in which the offset is narrow and the raw counts are not shown."""
    columns = _fitted(report)
    group = _CL.replace(" CL ", " Double-CL ") if report.options.double else _CL
    columns["offset"] = columns["offset"]._replace(lower="Off", width=5, upper=group)
    for line in report.lines:
        yield f"Cacheline {hex(line.address)}"
        yield from (text[2:] for text in _headings(columns, "  ") if text.strip(" .#"))
        yield from _rows(line, report.options, columns, "  ")


def _titled(title: str) -> tuple[str, ...]:
    return ("=" * 49, title, "=" * 49, "#")


def _headings(columns: dict[str, Heading], mark: str, first_width: int = 0) -> Iterator[str]:
    """The two lines of headings and the dots below, as ``hists__fprintf_headers`` prints them."""
    widths = {name: heading.width for name, heading in columns.items()}
    if first_width:
        widths[next(iter(widths))] = first_width
    upper, span = [], 0
    for name, heading in columns.items():
        if span:
            span -= 1
            continue
        span = heading.span
        upper.append(f"{heading.upper:>{widths[name]}}")
    yield mark + "  ".join(upper)
    yield mark + "  ".join(f"{heading.lower:>{widths[name]}}" for name, heading in columns.items())
    yield mark + "  ".join("." * width for width in widths.values())
    yield "#"


def _table_columns(options: Options) -> dict[str, Heading]:
    display = "Peer" if options.generation is Generation.F5 else options.display
    columns = table_columns(options.generation, display)
    if options.double:
        columns["address"] = columns["address"]._replace(upper="------- Double-Cacheline -------")
    return columns


def _table_cells(rank: int, line: LineSpec, report: ReportSpec) -> dict[str, str]:
    remote, local, *stores = line.totals(report.options.shares)
    whole = sum(sum(line.totals(2)) for line in report.lines) or 1
    hitm = (0, 0) if report.options.generation is Generation.F5 else (local, remote)
    loads = remote + local + 28
    counts = {
        "index": rank, "pages": 1, "records": loads + sum(stores), "snoops": remote + local, "local": local,
        "remote": remote, "loads": loads, "stores": sum(stores), "fb": 1, "l1": 2, "l2": 3, "llc": 4,
        "llc_hitm": hitm[0], "remote_hit": 5, "remote_hitm": hitm[1], "dram": 6, "remote_dram": 7, "llc_miss": 8,
        **dict(zip(("hit", "miss", "na"), stores, strict=False)),
    }  # fmt: skip
    cells = {name: str(count) for name, count in counts.items()}
    share = f"{100 * (remote + local) / whole:.2f}%"
    return cells | {"address": hex(line.address), "node": line.rows[0].pages[0], "share": share}


def _fitted(report: ReportSpec) -> dict[str, Heading]:
    """The columns of the distribution, those of text as wide as their longest cell."""
    options = report.options
    columns = row_columns(options.generation, options.coalesced, options.source, options.nodes)
    cells = [_cells(row, line, options) for line in report.lines for row in line.rows]
    for name, heading in columns.items():
        if not heading.width:
            width = max(len(heading.lower), *(len(cell[name]) for cell in cells))
            columns[name] = heading._replace(width=width)
    return columns


def _rows(line: LineSpec, options: Options, columns: dict[str, Heading], margin: str) -> Iterator[str]:
    for row in line.rows:
        cells = _cells(row, line, options)
        yield margin + "  ".join(_padded(name, cells[name], heading.width) for name, heading in columns.items())
        if row.graph:
            yield row.graph


def _padded(name: str, cell: str, width: int) -> str:
    return f"{cell:<{width}}" if name in ("tid", "symbol", "object", "source", "nodes") else f"{cell:>{width}}"


def _cells(row: RowSpec, line: LineSpec, options: Options) -> dict[str, str]:
    """The cells of a row by the names of its columns."""
    totals = line.totals(options.shares)
    shares = [100 * count / total if total else 0 for count, total in zip(row.counts, totals, strict=False)]
    names = ("remote", "local", "hit", "miss", "na")
    cells = {name: f"{share:.2f}%" for name, share in zip(names, shares, strict=False)}
    width = None if options.full else SYMBOL_WIDTH
    return cells | {
        "offset": hex(row.offset),
        "node": row.pages[0],
        "pages": str(row.pages[1]),
        "pid": str(row.pid),
        "tid": f"{row.pid:7d}:{row.comm:.15}",
        "code": hex(row.code),
        **{name: str(mean) for name, mean in zip(("mean_rmt", "mean_lcl", "mean_load"), row.cycles, strict=True)},
        "row_records": str(row.records),
        "cpus": str(row.cpus),
        "symbol": f"[{row.mode}] {row.symbol}"[:width],
        "object": row.object_file,
        "source": row.source[:width],
        "nodes": _nodes(row.nodes, options.nodes),
    }


def _nodes(nodes: tuple[int, ...], form: int) -> str:
    if form == 0:
        return " ".join(f"{node:2d}" for node in nodes)
    if form == 1:
        last = max(nodes) + 1
        return "".join(_node_shares(node) if node in nodes else " " * 21 for node in range(last))
    return " ".join(f"{node:2d}{{{node}-{node + 3},{node + 8}}}" for node in nodes)


def _node_shares(node: int) -> str:
    return f" {node:2d}{{{node + 2:2d} {100.0:5.1f}% {'n/a':>6}}}"
