# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reader of a report has to know about it: what is missing, what was not read, and what was assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from linesmith.analyzer.model import CACHE_LINE_BYTES, Remark, SharedLine
from linesmith.plugins.profiles.counts import exceeds_whole
from linesmith.plugins.profiles.draft import Block, Draft
from linesmith.plugins.profiles.symbols import function_of

_MOST_UNREAD = 20


def remarks_on(draft: Draft, lines: tuple[SharedLine, ...], display_doubt: str) -> Iterator[Remark]:
    """Remarks on the whole report first, then on lines and rows in the order of the text."""
    if display_doubt:
        yield Remark(display_doubt, lines[0].text_line)
    yield from _on_offsets(draft)
    yield from _on_line_size(draft, lines)
    yield from _on_symbols(draft)
    listed = {row.address: frozenset(name for name, _ in row.counts) for row in draft.table}
    for block in draft.blocks:
        yield from _on_totals(block, listed)
    yield from _on_cells(draft)
    yield from _on_unread(draft)


def _on_offsets(draft: Draft) -> Iterator[Remark]:
    rows = [row for block in draft.blocks for row in block.rows]
    if not rows:
        yield Remark("the report has no rows with offsets: lines can be ranked, but members cannot be named")
        return
    without = [row for row in rows if "offset" not in row.numbers]
    if without:
        share = "no row has an" if len(without) == len(rows) else f"{len(without)} of {len(rows)} rows have no"
        yield Remark(f"{share} offset: their members cannot be named", without[0].line)


def _on_line_size(draft: Draft, lines: tuple[SharedLine, ...]) -> Iterator[Remark]:
    if not draft.double and lines[0].bytes > CACHE_LINE_BYTES:
        yield Remark(f"offsets beyond 0x3f: the lines are taken to be {lines[0].bytes} bytes", lines[0].text_line)


def _on_symbols(draft: Draft) -> Iterator[Remark]:
    rows = [row for block in draft.blocks for row in block.rows if row.kernel]
    unresolved = [row for row in rows if row.tail.symbol and function_of(row.tail.symbol, None, 0)[0] is None]
    if unresolved:
        yield Remark(
            f"{len(unresolved)} of {len(rows)} kernel rows show addresses instead of functions: the report was"
            " made without the kernel's symbols (run perf as root, with kernel.kptr_restrict=0)",
            unresolved[0].line,
        )


def _on_totals(block: Block, listed: Mapping[int, Collection[str]]) -> Iterator[Remark]:
    """``listed``: the addresses whose raw counts are in the table, with the columns of these counts."""
    if not block.rows:
        return
    line = block.head.line if block.head else block.rows[0].line
    if block.head and block.head.counts and not block.totals:
        yield Remark("the line's raw counts are not as many as the shares of its rows", line)
    elif not block.totals and not (block.head and block.head.address in listed):
        yield Remark("rows without the raw counts of their line: their counts are as of 10,000 samples a column", line)
    elif not block.totals and block.head and block.uncounted_stores(listed.get(block.head.address or 0, ())):
        yield Remark("the table has no stores: those of its rows are counted as of 10,000 samples a column", line)
    columns = zip(*([share for _, share in row.shares] for row in block.rows), strict=False)
    if any(exceeds_whole(column) for column in columns):
        yield Remark("a column of shares adds up to more than 100 %: the rows are not of one line", line)


def _on_cells(draft: Draft) -> Iterator[Remark]:
    rows = [row for block in draft.blocks for row in block.rows]
    unnamed = [row for row in rows if row.unnamed]
    if unnamed:
        yield Remark(f"rows with numbers whose column cannot be told: {len(unnamed)}", unnamed[0].line)
    shares = [row for row in rows if any(name == "?" for name, _ in row.shares)]
    if shares:
        yield Remark(f"rows with shares whose column cannot be told: {len(shares)}", shares[0].line)
    unkept = [row for row in rows if any(not name and share for name, share in row.shares)]
    if unkept:
        yield Remark("shares of loads that neither HITM nor peer snoops count are left out", unkept[0].line)


def _on_unread(draft: Draft) -> Iterator[Remark]:
    for unread in draft.unread[:_MOST_UNREAD]:
        yield Remark(f"not read, no known columns: {unread.text}", unread.line)
    if len(draft.unread) > _MOST_UNREAD:
        yield Remark(
            f"more rows that were not read: {len(draft.unread) - _MOST_UNREAD}", draft.unread[_MOST_UNREAD].line
        )
