# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a profile of a draft: shares become counts, table and distribution meet, and doubts become remarks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, Profile, Remark, SharedLine
from linesmith.plugins.profiles.columns import SHARES, STORES
from linesmith.plugins.profiles.draft import Block, Draft, TableRow, counts_of, exceeds_whole
from linesmith.plugins.profiles.rows import Row
from linesmith.plugins.profiles.tokens import function_of, longest_symbol

# What a reader of a report has to know about it: what is missing, what was not read, and what was assumed.

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


# Whether "remote" and "local" of a report count HITM loads or peer snoops.

# x86-64 maps kernel text and modules into the last 2 GiB (Documentation/x86/x86_64/mm.rst); arm64 has 48 or 52
# bits of kernel addresses below it and perf c2c shows peers there by default (since 6.0).
_X86_KERNEL_TEXT = 0xFFFFFFFF80000000
_ARM64_KERNEL = 0xFFF0000000000000


def display_of(draft: Draft) -> tuple[str, str]:
    """``hitm`` or ``peer``, and a sentence for the reader when neither a heading nor the counts prove it."""
    if draft.peer is not None:
        return ("peer" if draft.peer else "hitm"), ""
    by_counts = _by_counts(draft)
    if by_counts is not None:
        return by_counts, ""
    if all(len(row.shares) != 5 for block in draft.blocks for row in block.rows):
        return "hitm", ""
    return _by_addresses(draft)


def _by_counts(draft: Draft) -> str | None:
    """The table repeats the HITM counts in its last columns: where they differ, its first ones count peers."""
    pairs: list[tuple[int, int]] = []
    for row in draft.table:
        counts = dict(row.counts)
        if "llc_hitm" in counts:
            pairs += [(counts["local"], counts["llc_hitm"]), (counts["remote"], counts["rmt_hitm"])]
    if not any(first or second for first, second in pairs):
        return None
    return "hitm" if all(first == second for first, second in pairs) else "peer"


def _by_addresses(draft: Draft) -> tuple[str, str]:
    addresses = list(_kernel_code(draft))
    if any(address >= _X86_KERNEL_TEXT for address in addresses):
        return "hitm", ""
    if any(address >= _ARM64_KERNEL for address in addresses):
        return "peer", "no heading says what was counted; kernel addresses are of arm64, so peer snoops are assumed"
    return "hitm", "no heading says whether HITM or peer snoops were counted; HITM is assumed"


def _kernel_code(draft: Draft) -> Iterator[int]:
    for block in draft.blocks:
        for row in block.rows:
            if row.kernel and "code_address" in row.numbers:
                yield row.numbers["code_address"]


_CONTENDED_KEYS = {
    "hitm": ("Load Local HITM", "Load Remote HITM"),
    "peer": ("Load HIT Local Peer", "Load HIT Remote Peer"),
}


# Shares have two decimals of a percent: a column of 10,000 samples keeps them all.
NOMINAL = 10_000


def profile_of(draft: Draft, source: str) -> Profile:
    """The profile of one report; lines in the order of their numbers."""
    display, doubt = display_of(draft)
    size = _line_bytes(draft)
    lines = tuple(_lines(draft, display, size))
    has_offsets = any(access.offset is not None for line in lines for access in line.accesses)
    totals = tuple((total.key, total.count) for total in draft.totals)
    return Profile(
        source,
        draft.title,
        display,
        lines,
        tuple(remarks_on(draft, lines, doubt)),
        has_offsets,
        _has_stores(lines, totals),
        totals,
        tuple(draft.events),
        excerpt=not totals,
    )


def _has_stores(lines: Iterable[SharedLine], totals: tuple[tuple[str, int], ...]) -> bool:
    """Whether stores were sampled at all; a report of loads only must not be read as "nobody writes"."""
    sampled = dict(reversed(totals)).get("Store Operations", 0)
    return sampled > 0 or any(line.stores or any(access.stores for access in line.accesses) for line in lines)


def _line_bytes(draft: Draft) -> int:
    """64, or what a heading or the largest offset tells (``--double-cl``; machines with longer lines)."""
    offsets = [row.numbers.get("offset", 0) for block in draft.blocks for row in block.rows]
    size = CACHE_LINE_BYTES * (2 if draft.double else 1)
    while size <= max(offsets, default=0):
        size *= 2
    return size


def _lines(draft: Draft, display: str, size: int) -> Iterator[SharedLine]:
    """Lines of the distribution joined with the table's; then those that only the table has."""
    found: list[SharedLine] = []
    longest = longest_symbol(row.tail.symbol for block in draft.blocks for row in block.rows)
    unmatched = list(draft.table)
    last = -1
    hitms = _summary_contended(draft, display)
    for block in draft.blocks:
        row = _table_row(block, unmatched)
        rank = block.rank if block.rank is not None else row.rank if row else last + 1
        last = max(last, rank)
        found.append(_line(block, row, rank, display, size, longest, hitms))
    found += [_table_line(row, display, size) for row in unmatched]
    return iter(sorted(found, key=lambda line: line.rank))


def _table_row(block: Block, unmatched: list[TableRow]) -> TableRow | None:
    """The table's row of the same address (and number, where the address comes twice)."""
    address = block.head.address if block.head else None
    same = [row for row in unmatched if row.address == address]
    if not same:
        return None
    row = next((row for row in same if row.rank == block.rank), same[0])
    unmatched.remove(row)
    return row


def _summary_contended(draft: Draft, display: str) -> int | None:
    """All HITM loads (peer snoops) of the recording, if the summary is there."""
    totals = {total.key: total.count for total in reversed(draft.totals)}
    local, remote = _CONTENDED_KEYS[display]
    return totals[local] + totals[remote] if local in totals and remote in totals else None


def _named(values: Iterable[tuple[str, int]], display: str) -> dict[str, Any]:
    """Counts (each an ``int``) by the names of the model; ``remote`` and ``local`` take the display's name."""
    named: dict[str, Any] = {}
    for value, count in values:
        if value in ("remote", "local"):
            named[f"{display}_{value}"] = count
        elif value in (*STORES, "records", "loads"):
            named[value] = count
    return named


def _table_line(row: TableRow, display: str, size: int) -> SharedLine:
    counts = _named(row.counts, display)
    return SharedLine(row.rank, row.address, (), bytes=size, share=row.share, text_line=row.line, **counts)


def _line(
    block: Block, row: TableRow | None, rank: int, display: str, size: int, longest: int, hitms: int | None
) -> SharedLine:
    counts = _named(row.counts, display) if row else {}
    values = [value for value, _ in block.rows[0].shares] if block.rows else []
    values = values or [column.value for column in SHARES.get(len(block.totals), ())]
    totals = dict(zip(values, block.totals, strict=False)) if block.totals else _table_totals(row)
    nominal = not totals and bool(block.rows)
    if nominal:
        totals = _nominal_totals(block)
    totals |= dict.fromkeys(block.uncounted_stores(totals), NOMINAL)
    counts |= _named(totals.items(), display)
    accesses = tuple(_accesses(block, totals, display, longest))
    contended = counts.get(f"{display}_remote", 0) + counts.get(f"{display}_local", 0)
    share = row.share if row else contended / hitms if hitms else None
    return SharedLine(
        rank,
        block.head.address if block.head else None,
        accesses,
        bytes=size,
        share=share,
        text_line=block.head.line if block.head else block.rows[0].line,
        nominal=nominal,
        **counts,
    )


def _nominal_totals(block: Block) -> dict[str, int]:
    """``NOMINAL`` samples for every column that has any: shares become counts that compare within the line."""
    columns = {value for row in block.rows for value, _ in row.shares} - {"", "?"}
    held = {value for row in block.rows for value, share in row.shares if share > 0}
    return {value: NOMINAL if value in held else 0 for value in columns}


def _table_totals(row: TableRow | None) -> dict[str, int]:
    return dict(row.counts) if row else {}


def _accesses(block: Block, totals: dict[str, int], display: str, longest: int) -> Iterator[Access]:
    """The rows with shares turned into counts, column by column."""
    columns: dict[str, tuple[int, ...]] = {}
    for value in {value for row in block.rows for value, _ in row.shares} & totals.keys() - {"", "?"}:
        shares = [dict(row.shares).get(value, 0.0) for row in block.rows]
        if not exceeds_whole(shares):
            columns[value] = counts_of(totals[value], shares)
    for at, row in enumerate(block.rows):
        counts = _named(((value, column[at]) for value, column in columns.items()), display)
        yield _access(row, counts, longest, block.callers.get(at, ()))


def _access(row: Row, counts: dict[str, Any], longest: int, callers: tuple[str, ...]) -> Access:
    numbers = row.numbers
    function, cut = function_of(row.tail.symbol, row.tail.source, longest, row.origin)
    return Access(
        offset=numbers.get("offset"),
        function=function,
        records=numbers.get("records"),
        cpus=numbers.get("cpus"),
        cycles_remote=numbers.get("cycles_remote"),
        cycles_local=numbers.get("cycles_local"),
        cycles_load=numbers.get("cycles_load"),
        code_address=numbers.get("code_address"),
        object_file=row.tail.object_file,
        source=row.tail.source,
        nodes=row.tail.nodes,
        process=row.process,
        kernel=row.kernel,
        symbol_cut=cut,
        text_line=row.line,
        callers=callers[callers[:1] == (function,) :],
        **counts,
    )
