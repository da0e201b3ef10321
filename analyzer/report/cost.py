# SPDX-License-Identifier: GPL-2.0-or-later
"""What a line costs, and who makes whom wait, in rows of text."""

from __future__ import annotations

from collections.abc import Sequence

from linesmith.analyzer.model import CACHE_LINE_BYTES, Bounds, LineCost, SharingCost, Side
from linesmith.analyzer.report.counting import amount as counted_as
from linesmith.analyzer.report.counting import runs
from linesmith.analyzer.report.prose import WIDTH, row

MOST_SHARINGS = 6
# A sharing that can cause less than this share of the line's contended accesses is not worth a row.
LEAST_SHARE = 0.01
_SHARING_HEAD = ("waits", "for stores to", "contended", "cycles", "on")
# Columns that the cells but the last have where there is room.
_SHARING_WIDTHS = (24, 24, 14, 20)


def cost_rows(cost: LineCost, accesses: str, whole: str = "profile") -> list[str]:
    """The cost of the line and the part that a layout can remove, indented by two; none where nothing waited.

    ``whole`` is what shares are of.
    """
    if not cost.contended and not cost.waited:
        return []
    measured = "counted with assumed latencies" if cost.exact else "as sampled" if cost.timed else "latencies assumed"
    slow = f" and {cost.slow_cycles:,.0f} on other slow loads" if cost.slow_cycles >= 1 else ""
    # A recording knows more misses for a store elsewhere than those that found the line modified, which it counts as
    # contended: behind the first of several readers the line is clean again.
    things = "misses after stores by other CPUs" if cost.exact else f"contended {accesses}"
    rows = [f"  cost     {cost.cycles:,.0f} cycles on {things}{slow} ({measured})"]
    removable = _removable(cost.removable, cost.removable_cycles, cost, things)
    rows.append(f"  removable {removable}: {share_range(cost.share)} of the {whole}")
    if cost.adjacent.most:
        beside = _removable(cost.adjacent, cost.adjacent_cycles, cost, things)
        rows.append(f"  adjacent {beside}, if the other half of the 128-byte pair is to blame")
    return rows


def _removable(amount: Bounds, cycles: Bounds, cost: LineCost, things: str) -> str:
    of_all = f"{cost.contended:,} {things}" if cost.exact else counted_as(cost.contended, things)
    return f"{count_range(amount)} of {of_all}, {count_range(cycles)} cycles"


def sharing_rows(cost: LineCost, columns: int = WIDTH) -> list[str]:
    """A table of who waits for stores to what, heaviest first, indented by two."""
    heavy = heavy_sharings(cost)
    if not heavy:
        return []
    table = [_SHARING_HEAD, *map(_sharing, heavy[:MOST_SHARINGS])]
    narrow = [max(map(len, column)) for column in zip(*table, strict=True)]
    roomy = [*map(max, narrow, _SHARING_WIDTHS)]
    widths = roomy if len(_sharing_cells(table[0], roomy)) + narrow[-1] <= columns else narrow
    rows = [row(_sharing_cells(cells, widths), cells[-1], columns) for cells in table]
    more = len(heavy) - MOST_SHARINGS
    return [*rows, f"  … and {more} more"] if more > 0 else rows


def heavy_sharings(cost: LineCost) -> list[SharingCost]:
    """The sharings that are worth a row, heaviest first."""
    return [one for one in cost.sharings if one.contended.most >= max(1, LEAST_SHARE * cost.contended)]


def _sharing_cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    """All cells but the last."""
    placed = (f"{cell:{side}{width}}" for cell, side, width in zip(cells, "<<>>", widths, strict=False))
    return f"  {' '.join(placed)}  "


def _sharing(one: SharingCost) -> tuple[str, ...]:
    writer = "itself" if one.writer.member == one.victim.member else one.writer.member
    span = "" if one.span == CACHE_LINE_BYTES else f", {one.span}-byte pair"
    counts = count_range(one.contended), count_range(one.cycles)
    return one.victim.member, writer, *counts, f"{places(one.victim, one.writer)}{span}"


def places(victim: Side, writer: Side) -> str:
    """CPUs and nodes of both in a few words: ``4 CPUs after 2, nodes 0-1``.

    No CPU waits for itself: where each row of a member that waits for itself has one CPU, they are two.
    """
    if victim.member == writer.member and victim.cpu_count == writer.cpu_count == 1 and victim.nodes == writer.nodes:
        return f"1 CPU after another{f', {_nodes(victim)}' if victim.nodes else ''}"
    if victim.nodes == writer.nodes:
        nodes = f", {_nodes(victim)}" if victim.nodes else ""
        return f"{_cpus(victim)} after {_cpus(writer)}{nodes}"
    parts = (" of ".join(part for part in (_cpus(side), _nodes(side)) if part) for side in (victim, writer))
    return " after ".join(parts)


def _cpus(side: Side) -> str:
    return f"{side.cpu_count} CPU{'' if side.cpu_count == 1 else 's'}" if side.cpu_count else "unknown CPUs"


def _nodes(side: Side) -> str:
    return f"node{'' if len(side.nodes) == 1 else 's'} {runs(side.nodes)}" if side.nodes else ""


def count_range(bounds: Bounds) -> str:
    """``817``, or ``0 to 817`` where only limits are known."""
    least, most = f"{bounds.least:,.0f}", f"{bounds.most:,.0f}"
    return most if least == most else f"{least} to {most}"


def share_range(bounds: Bounds) -> str:
    """The same in per cent."""
    least, most = f"{bounds.least:.1%}", f"{bounds.most:.1%}"
    return most if least == most else f"{least} to {most}"
