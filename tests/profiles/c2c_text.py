# SPDX-License-Identifier: GPL-2.0-or-later
"""Renders reports as ``perf c2c report --stdio`` does, written from its column widths; the reader's counterpart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

RULES = {4: 61, 5: 70, 6: 79}
SYMBOL_WIDTH = 30


class Generation(Enum):
    """The releases of perf between which the columns changed."""

    F1 = "4.10 to 4.18"
    F2 = "4.19 to 5.10"
    F3 = "5.11 to 5.18"
    F4 = "from 5.19"
    F5 = "from 6.0, peer display"


@dataclass(frozen=True)
class Options:
    """What the person who ran perf chose; ``nodes`` is how often ``-N`` was given."""

    generation: Generation = Generation.F4
    pid: bool = False
    tid: bool = False
    source: bool = True
    nodes: int = 0

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
    """The table and the distribution with their titles and headings."""
    return (
        "\n".join((*_titled("     Shared Data Cache Line Table          "), *table(report), "", *pareto(report))) + "\n"
    )


def pareto(report: ReportSpec, headings: bool = True) -> Iterator[str]:
    """The distribution, as ``print_pareto`` prints it."""
    yield from _titled("      Shared Cache Line Distribution Pareto      ")
    cells = [_cells(row, line, report.options) for line in report.lines for row in line.rows]
    tails = {at: max(len(cell[at]) for cell in cells) for at in range(-4, 0)}
    if headings:
        yield from _pareto_headings(report.options, tails)
    rule = "  " + "-" * RULES[report.options.shares]
    for rank, line in enumerate(report.lines):
        if rank:
            yield ""
        totals = line.totals(report.options.shares)
        yield rule
        yield "  " + "  ".join((f"{rank:5d}", *(f"{count:7d}" for count in totals), f"{hex(line.address):>18}"))
        yield rule
        for row in line.rows:
            *front, symbol, dso, source, nodes = _cells(row, line, report.options)
            parts = (*front, f"{symbol:<{tails[-4]}}", f"{dso:<{tails[-3]}}")
            source_part = (f"{source:<{tails[-2]}}",) if report.options.source else ()
            yield " " * 9 + "  ".join((*parts, *source_part, nodes))


def table(report: ReportSpec) -> Iterator[str]:
    """The shared-lines table with the columns of the report's generation."""
    yield from ("#", *_TABLE_HEADINGS[report.options.generation], "#")
    whole = sum(sum(line.totals(2)) for line in report.lines) or 1
    for rank, line in enumerate(report.lines):
        remote, local, *stores = line.totals(report.options.shares)
        stored, loads = sum(stores), remote + local + 7
        share = f"{100 * (remote + local) / whole:6.2f}%"
        place = (f"{rank:7d}", f"{hex(line.address):>18}")
        snoops = (remote + local, local, remote)
        hits = (1, 2, 3, 4, local, 5, remote, 6, 7)
        match report.options.generation:
            case Generation.F1 | Generation.F2:
                node = () if report.options.generation is Generation.F1 else ("   0", "     1")
                numbers = (*snoops, stored, *stores, 6, 7, 8, loads, 1, 2, 3, 4, 5)
                yield "  ".join((*place, *node, f"{loads + stored:7d}", share, *map("{:7d}".format, numbers)))
            case Generation.F5:
                numbers = (*snoops, loads + stored, loads, stored, *stores, 1, 2, 3, 4, 0, 5, 0, 6, 7)
                yield "  ".join((*place, "   0", "     1", share, *map("{:7d}".format, numbers)))
            case _:
                numbers = (*snoops, loads + stored, loads, stored, *stores, *hits)
                yield "  ".join((*place, "   0", "     1", share, *map("{:7d}".format, numbers)))


def _titled(title: str) -> tuple[str, ...]:
    return ("=" * 49, title, "=" * 49)


def _cells(row: RowSpec, line: LineSpec, options: Options) -> tuple[str, ...]:
    """The cells of a row in perf's order (``build_cl_output``)."""
    generation = options.generation
    totals = line.totals(options.shares)
    shares = (100 * count / total if total else 0 for count, total in zip(row.counts, totals, strict=False))
    place = () if generation is Generation.F1 else ("   0", "     1")
    process = (f"{row.pid:7d}",) if options.pid else ()
    thread = (f"{row.pid:5d}:{row.comm:<15.15}",) if options.tid else ()
    records = () if generation is Generation.F1 else (f"{row.records:7d}",)
    return (
        *(f"{share:7.2f}%" for share in shares),
        f"{hex(row.offset):>18}",
        *place,
        *process,
        *thread,
        f"{hex(row.code):>18}",
        *(f"{mean:8d}" for mean in row.cycles),
        *records,
        f"{row.cpus:8d}",
        f"[{row.mode}] {row.symbol}"[:SYMBOL_WIDTH],
        row.object_file,
        row.source[:SYMBOL_WIDTH],
        _nodes(row.nodes, options.nodes),
    )


def _nodes(nodes: tuple[int, ...], form: int) -> str:
    if form == 0:
        return " ".join(f"{node:2d}" for node in nodes)
    if form == 1:
        return " ".join(f"{node:2d}{{{1:2d} {100.0:5.1f}% {'n/a':>6}}}" for node in nodes)
    return "  ".join(f"{node}{{{node}-{node + 3},{node + 8}}}" for node in nodes)


_OLD_HITS = "  --- Load Dram ----      LLC    Total  ----- Core Load Hit -----  -- LLC Load Hit --"
_OLD_HITS_LOW = "       Lcl       Rmt  Ld Miss    Loads       FB       L1       L2       Llc       Rmt"
_OLD = "    Total      Tot  ----- LLC Load Hitm -----  ---- Store Reference ----" + _OLD_HITS
_OLD_LOW = "  records     Hitm    Total      Lcl      Rmt    Total    L1Hit   L1Miss" + _OLD_HITS_LOW
_HITS = "  ----- Core Load Hit -----  - LLC Load Hit --  - RMT Load Hit --  --- Load Dram ----"
_HITS_LOW = "       FB       L1       L2    LclHit  LclHitm    RmtHit  RmtHitm       Lcl       Rmt"
_HITM = "      Tot  ------- Load Hitm -------    Total    Total    Total"
_HITM_LOW = "     Hitm    Total  LclHitm  RmtHitm  records    Loads   Stores    L1Hit   L1Miss"
_PEER = "     Peer  ------- Load Peer -------    Total    Total    Total"
_PEER_LOW = "    Snoop    Total    Local   Remote  records    Loads   Stores    L1Hit   L1Miss"
_STORES, _STORES_OLD = "  --------- Stores --------", "  ---- Stores ----"
_LINE = "#        ----------- Cacheline ----------"
_LINE_LOW = "# Index             Address  Node  PA cnt"
_TABLE_HEADINGS = {
    Generation.F1: ("#                          " + _OLD, "# Index           Cacheline" + _OLD_LOW),
    Generation.F2: (_LINE + _OLD, _LINE_LOW + _OLD_LOW),
    Generation.F3: (_LINE + _HITM + _STORES_OLD + _HITS, _LINE_LOW + _HITM_LOW + _HITS_LOW),
    Generation.F4: (_LINE + _HITM + _STORES + _HITS, _LINE_LOW + _HITM_LOW + "      N/A" + _HITS_LOW),
    Generation.F5: (_LINE + _PEER + _STORES + _HITS, _LINE_LOW + _PEER_LOW + "      N/A" + _HITS_LOW),
}
_CONTENDED = {
    Generation.F1: ("----- HITM -----", "    Rmt      Lcl"),
    Generation.F2: ("----- HITM -----", "    Rmt      Lcl"),
    Generation.F3: ("----- HITM -----", "RmtHitm  LclHitm"),
    Generation.F4: ("----- HITM -----", "RmtHitm  LclHitm"),
    Generation.F5: ("-- Peer Snoop --", "    Rmt      Lcl"),
}


def _pareto_headings(options: Options, tails: dict[int, int]) -> tuple[str, ...]:
    old = options.generation is Generation.F1
    over, low = _CONTENDED[options.generation]
    means = "rmt peer  lcl peer" if options.generation is Generation.F5 else "rmt hitm  lcl hitm"
    stores = ("------- Store Refs ------", " L1 Hit  L1 Miss      N/A") if options.shares == 5 else (
        "-- Store Refs --", " L1 Hit  L1 Miss")  # fmt: skip
    place = "            Offset" if old else "            Offset  Node  PA cnt"
    task = ("    Pid",) * options.pid + ("                  Tid",) * options.tid
    nodes = ("Node", "Node{cpus %hitms %stores}", "Node{cpu list}")[options.nodes]
    lower = (
        f"#   Num  {low}  {stores[1]}  {place}",
        *task,
        f"      Code address  {means}      load",
        *(() if old else ("records",)),
        f"     cnt  {'Symbol':>{tails[-4]}}  {'Object':>{tails[-3]}}",
        *((f"{'Source:Line':>{tails[-2]}}",) if options.source else ()),
        nodes,
    )
    address = "--------- Data address ---------  ---------- cycles ----------  Total  cpu  Shared"
    upper = f"#        {over}  {stores[0]}  {address}"
    return "#", upper, "  ".join(lower), "# .....  .......  .......", "#"
