# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a profile of a draft: shares become counts, table and distribution meet, and doubts become remarks."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import chain, islice, repeat
from operator import attrgetter, sub
from pathlib import Path
from typing import Any

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import CACHE_LINE_BYTES, Access, CacheLine, Profile, Remark
from linesmith.plugins.api import read_text
from linesmith.plugins.profiles.columns import SHARES, STORES, TextCursor
from linesmith.plugins.profiles.draft import LineBlock, ReportDraft, TableRow, drafts, number_of, stacked
from linesmith.plugins.profiles.formats import unmail
from linesmith.plugins.profiles.rows import ReportRows
from linesmith.plugins.profiles.scan import Scanner

# Shares have two decimals of a percent: a column of 10,000 samples keeps them all.
NOMINAL = 10_000
# Each share is off by up to half of a hundredth of a percent.
_ROUNDING = 0.005
_MOST_UNREAD = 20
_AT_A_TIME = 512
# x86-64 maps kernel text and modules into the last 2 GiB (Documentation/x86/x86_64/mm.rst); arm64 has 48 or 52
# bits of kernel addresses below it and perf c2c shows peers there by default (since 6.0).
_X86_KERNEL_TEXT = 0xFFFFFFFF80000000
_ARM64_KERNEL = 0xFFF0000000000000
_CONTENDED_KEYS = {
    "hitm": ("Load Local HITM", "Load Remote HITM"),
    "peer": ("Load HIT Local Peer", "Load HIT Remote Peer"),
}
# SYMBOL_WIDTH of builtin-c2c.c is 30, and "[k] " takes four of them.
_CUT_WIDTH = 26
# perf -v takes 21 more of them, for the address and the symbol table.
_CUT_BEHIND_ORIGIN = 5
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+$")
_PLACE = re.compile(r"(.+)\+\d+$")

# Counts of the rows of a line, by the names of the model.
RowCounts = dict[str, Sequence[int]]


def read_c2c(path: Path, source: str) -> tuple[Profile, ...]:
    """Every report in the file; raises ``ProfileError`` when there is no shared line in it."""
    text = read_text(path, source)
    found = drafts(Scanner(TextCursor(unmail(text))).pieces())
    holding = [draft for draft in found if draft.holds_lines]
    if not holding:
        raise ProfileError(_nothing_in(text, source, found))
    if {rows.values[:2] for draft in holding for rows in draft.rows} == {("", "")}:
        advice = "give the text of `perf c2c report --stdio -d tot`, or of `-d peer`"
        raise ProfileError(f"{source} counts loads that hit or missed (`-d all`), and no HITM or peer snoop; {advice}")
    return tuple(profile_of(draft, source) for draft in holding)


def _nothing_in(text: str, source: str, found: list[ReportDraft]) -> str:
    unread = [unread for draft in found for unread in draft.unread]
    lines = text.count("\n") + (not text.endswith("\n"))
    advice = "give the text of `perf c2c report --stdio`"
    if not unread and any(draft.totals for draft in found):
        return f"{source} is a `perf c2c report` that lists no shared cache line{_counted(found)}"
    if unread:
        first = f"line {unread[0].line} begins with shares ({unread[0].text}) but goes on with no offset and no symbol"
        return f"{source} holds no cache line of a `perf c2c report` that can be read: {first}; {advice}"
    return (
        f"{source} holds no cache line of a `perf c2c report`: none of its {lines} lines is a row of shares and an"
        f" offset, or of the shared-lines table; {advice}"
    )


def _counted(found: list[ReportDraft]) -> str:
    """What the summary says about loads that other caches answered, and what to do about it."""
    totals = {total.key: total.count for draft in found for total in draft.totals}
    hitms = sum(totals.get(f"Load {where} HITM", 0) for where in ("Local", "Remote"))
    peers = sum(totals.get(f"Load HIT {where} Peer", 0) for where in ("Local", "Remote"))
    if hitms or peers:
        display = "tot" if hitms else "peer"
        return f" ({hitms} HITM, {peers} peer snoops); give the text of `perf c2c report --stdio -d {display}`"
    return " and counts no HITM and no peer snoop; record where there is contention, or a PMU that tells it"


def profile_of(draft: ReportDraft, source: str) -> Profile:
    """The profile of one report; lines in the order of their numbers."""
    display, doubt = _display_of(draft)
    lines = tuple(_lines(draft, display))
    totals = tuple((total.key, total.count) for total in draft.totals)
    # A report of loads only must not be read as "nobody writes".
    stores = dict(reversed(totals)).get("Store Operations", 0) > 0
    return Profile(
        source,
        draft.title,
        display,
        lines,
        tuple(_remarks_on(draft, lines, doubt)),
        any(access.offset is not None for line in lines for access in line.accesses),
        stores or any(line.stores or any(access.stores for access in line.accesses) for line in lines),
        totals,
        tuple(draft.events),
        excerpt=not totals,
    )


def _display_of(draft: ReportDraft) -> tuple[str, str]:
    """``hitm`` or ``peer``, and a sentence for the reader when neither a heading nor the counts prove it."""
    if draft.peer is not None:
        return ("peer" if draft.peer else "hitm"), ""
    # The table repeats the HITM counts in its last columns: where they differ, its first ones count peers.
    pairs: list[tuple[int, int]] = []
    for row in draft.table:
        counts = dict(row.counts)
        if "llc_hitm" in counts:
            pairs += [(counts["local"], counts["llc_hitm"]), (counts["remote"], counts["rmt_hitm"])]
    if any(first or second for first, second in pairs):
        return ("hitm" if all(first == second for first, second in pairs) else "peer"), ""
    if all(len(rows.values) != 5 for rows in draft.rows):
        return "hitm", ""
    each = chain(*(zip(rows.kernel, rows.numbers.get("code_address", ()), strict=False) for rows in draft.rows))
    code = [address for kernel, address in each if kernel]
    if any(address >= _X86_KERNEL_TEXT for address in code):
        return "hitm", ""
    if any(address >= _ARM64_KERNEL for address in code):
        return "peer", "no heading says what was counted; kernel addresses are of arm64, so peer snoops are assumed"
    return "hitm", "no heading says whether HITM or peer snoops were counted; HITM is assumed"


def _lines(draft: ReportDraft, display: str) -> Sequence[CacheLine]:
    """Lines of the distribution joined with the table's; then those that only the table has."""
    # All HITM loads (peer snoops) of the recording, if the summary is there.
    totals = {total.key: total.count for total in reversed(draft.totals)}
    keys = _CONTENDED_KEYS[display]
    recorded = sum(totals[key] for key in keys) if all(key in totals for key in keys) else None
    unmatched: defaultdict[int | None, list[TableRow]] = defaultdict(list)
    for listed in draft.table:
        unmatched[listed.address].append(listed)
    rows = [_table_row(block, unmatched[block.head.address if block.head else None]) for block in draft.blocks]
    counted = [_line_counts(block, row, display) for block, row in zip(draft.blocks, rows, strict=True)]
    every = _accesses(draft, [columns for *_, columns in counted])
    # 64 bytes, or what a heading or the largest offset tells (``--double-cl``; machines with longer lines).
    size = CACHE_LINE_BYTES * (2 if draft.double else 1)
    furthest = max((access.offset or 0 for access in every), default=0)
    while size <= furthest:
        size *= 2
    accesses = iter(every)
    found: list[CacheLine] = []
    last = -1
    for block, row, (counts, nominal, _) in zip(draft.blocks, rows, counted, strict=True):
        rank = block.rank if block.rank is not None else row.rank if row else last + 1
        last = max(last, rank)
        contended = counts.get(f"{display}_remote", 0) + counts.get(f"{display}_local", 0)
        line = CacheLine(
            rank,
            block.head.address if block.head else None,
            tuple(islice(accesses, number_of(block.rows))),
            bytes=size,
            share=row.share if row else contended / recorded if recorded else None,
            text_line=block.head.line if block.head else block.rows[0].text_line[0],
            nominal=nominal,
            **counts,
        )
        found.append(line)
    left = {id(row) for rows in unmatched.values() for row in rows}
    for row in draft.table:
        if id(row) in left:
            counts = _named(row.counts, display)
            only = CacheLine(row.rank, row.address, (), bytes=size, share=row.share, text_line=row.line, **counts)
            found.append(only)
    return sorted(found, key=lambda line: line.rank)


def _table_row(block: LineBlock, same: list[TableRow]) -> TableRow | None:
    """Takes the table's row out of those of the same address (the one of the same number, where there are two)."""
    if not same:
        return None
    row = next((row for row in same if row.rank == block.rank), same[0])
    same.remove(row)
    return row


def _line_counts(block: LineBlock, row: TableRow | None, display: str) -> tuple[dict[str, Any], bool, RowCounts]:
    """The line's counts by the names of the model, whether they are nominal, and the same counts of its rows."""
    counts = _named(row.counts, display) if row else {}
    values = list(block.rows[0].values) if block.rows else []
    values = values or [column.value for column in SHARES.get(len(block.totals), ())]
    totals = dict(zip(values, block.totals, strict=False)) if block.totals else dict(row.counts) if row else {}
    nominal = not totals and bool(block.rows)
    shares = block.shares_by_value
    if nominal:
        # As many samples for every column that has any: shares become counts that compare within the line.
        totals = {value: NOMINAL if any(shares[value]) else 0 for value in shares if value not in ("", "?")}
    totals |= dict.fromkeys(_uncounted_stores(shares, totals), NOMINAL)
    counts |= _named(totals.items(), display)
    most = _most_shares(number_of(block.rows))
    known = ((value, column) for value, column in shares.items() if value in totals and value not in ("", "?"))
    columns = ((value, _counts_of(totals[value], column)) for value, column in known if sum(column) <= most)
    return counts, nominal, _named(columns, display)


def _uncounted_stores(shares: Mapping[str, Sequence[float]], counted: Collection[str]) -> list[str]:
    """Columns of stores that have shares, but no count among the ``counted`` columns of the line."""
    return [value for value in STORES if value not in counted and any(shares.get(value, ()))]


def _named(values: Iterable[tuple[str, Any]], display: str) -> dict[str, Any]:
    """Counts, or columns of them, by the names of the model; ``remote`` and ``local`` take the display's name."""
    named: dict[str, Any] = {}
    for value, count in values:
        if value in ("remote", "local"):
            named[f"{display}_{value}"] = count
        elif value in (*STORES, "records", "loads"):
            named[value] = count
    return named


def _accesses(draft: ReportDraft, counts: Sequence[RowCounts]) -> list[Access]:
    """The rows of all lines, whose ``counts`` are given line by line."""
    if not draft.rows:
        return []
    columns: dict[str, Iterable[Any]] = {"offset": repeat(None)}
    columns |= stacked([rows.numbers for rows in draft.rows], [len(rows.text_line) for rows in draft.rows], None)
    columns |= stacked(counts, [number_of(block.rows) for block in draft.blocks], None)
    for name in ("text_line", "object_file", "source", "nodes", "process", "kernel"):
        columns[name] = chain.from_iterable(map(attrgetter(name), draft.rows))
    symbols, sources = (list(chain.from_iterable(map(attrgetter(name), draft.rows))) for name in ("symbol", "source"))
    longest = max((len(symbol) for symbol in set(symbols) if symbol and not _ADDRESS.match(symbol)), default=0)
    origins = chain.from_iterable(repeat(rows.origin, len(rows.text_line)) for rows in draft.rows)
    places = list(zip(symbols, sources, origins, strict=True))
    known = {place: _function_of(*place, longest) for place in set(places)}
    columns["function"], columns["symbol_cut"] = zip(*map(known.__getitem__, places), strict=True)
    # Field by field, for so many at a time that they stay in the cache of the CPU: the constructor of a frozen class
    # takes three times as long.
    setting = [
        (getattr(Access, one.name).__set__, iter(columns.get(one.name) or repeat(one.default)))
        for one in fields(Access)
    ]
    found: list[Access] = []
    while some := list(map(object.__new__, repeat(Access, min(_AT_A_TIME, len(symbols) - len(found))))):
        for set_field, values in setting:
            deque(map(set_field, some, values), maxlen=0)
        found += some
    return found


def _most_shares(rows: int) -> float:
    """What shares in percent add up to at most, with what rounding explains; others are not of one column."""
    return 100 + _ROUNDING * rows + 0.001


def _counts_of(total: int, shares: Sequence[float]) -> Sequence[int]:
    """Counts whose shares of ``total`` were printed as ``shares`` (percent), with two decimals.

    Complete columns add up to ``total`` exactly (largest remainder); others are rounded one by one.
    """
    whole = sum(shares)
    if not whole:
        return (0,) * len(shares)
    if abs(whole - 100) > _ROUNDING * len(shares) + 0.001:
        return [round(share * total / 100) for share in shares]
    exact = [share / whole * total for share in shares]
    counts = list(map(int, exact))
    remainders = list(map(sub, counts, exact))
    for at in sorted(range(len(shares)), key=remainders.__getitem__)[: max(total - sum(counts), 0)]:
        counts[at] += 1
    return counts


def _function_of(symbol: str | None, source: str | None, behind_origin: bool, longest: int) -> tuple[str | None, bool]:
    """The function's name and whether perf cut it.

    perf cuts at 26 characters (``-v``: at 5, ``behind_origin``) unless ``--full-symbols`` was given, so a name of just
    that length in a report without longer ones may be cut. ``source`` of the form ``name+12`` repeats the symbol and
    may prove that the name is whole, or give it in full. An address or ``[unknown]`` is no name.
    """
    if symbol is None or _is_unresolved(symbol):
        return None, False
    width = _CUT_BEHIND_ORIGIN if behind_origin else _CUT_WIDTH
    place = _PLACE.match(source) if source and "+" in source else None
    whole = place.group(1) if place else ""
    if whole == symbol or (len(symbol) == width and whole.startswith(symbol)):
        return whole, False
    return symbol, len(symbol) == width == longest


def _is_unresolved(symbol: str) -> bool:
    return symbol == "[unknown]" or (symbol.startswith("0x") and _ADDRESS.match(symbol) is not None)


def _remarks_on(draft: ReportDraft, lines: tuple[CacheLine, ...], display_doubt: str) -> Iterator[Remark]:
    """What is missing, was not read, or was assumed: of the whole report first, then of lines and rows in order."""
    if display_doubt:
        yield Remark(display_doubt, lines[0].text_line)
    every = draft.rows
    without = [rows for rows in every if "offset" not in rows.numbers]
    if not every:
        yield Remark("the report has no rows with offsets: lines can be ranked, but members cannot be named")
    elif without:
        some = f"{number_of(without)} of {number_of(every)} rows have no"
        share = "no row has an" if len(without) == len(every) else some
        yield Remark(f"{share} offset: their members cannot be named", without[0].text_line[0])
    if not draft.double and lines[0].bytes > CACHE_LINE_BYTES:
        yield Remark(f"offsets beyond 0x3f: the lines are taken to be {lines[0].bytes} bytes", lines[0].text_line)
    yield from _on_addresses(every)
    yield from _on_totals(draft)
    unnamed = [rows for rows in every if rows.unnamed]
    if unnamed:
        yield Remark(f"rows with numbers whose column cannot be told: {number_of(unnamed)}", unnamed[0].text_line[0])
    shares = [rows for rows in every if "?" in rows.values]
    if shares:
        yield Remark(f"rows with shares whose column cannot be told: {number_of(shares)}", shares[0].text_line[0])
    for unread in draft.unread[:_MOST_UNREAD]:
        yield Remark(f"not read, no known columns: {unread.text}", unread.line)
    for unread in draft.unread[_MOST_UNREAD : _MOST_UNREAD + 1]:
        yield Remark(f"more rows that were not read: {len(draft.unread) - _MOST_UNREAD}", unread.line)


def _on_addresses(every: Sequence[ReportRows]) -> Iterator[Remark]:
    """Rows of the kernel without the names of its functions."""
    addresses = {symbol for symbol in set(chain(*(rows.symbol for rows in every))) if symbol and _is_unresolved(symbol)}
    if not addresses:
        return
    each = chain(*(zip(rows.kernel, rows.symbol, rows.text_line, strict=True) for rows in every))
    kernel = [(symbol, line) for is_kernel, symbol, line in each if is_kernel]
    unresolved = [line for symbol, line in kernel if symbol in addresses]
    if unresolved:
        yield Remark(
            f"{len(unresolved)} of {len(kernel)} kernel rows show addresses instead of functions: the report was"
            " made without the kernel's symbols (run perf as root, with kernel.kptr_restrict=0)",
            unresolved[0],
        )


def _on_totals(draft: ReportDraft) -> Iterator[Remark]:
    """Lines whose raw counts are missing, or do not fit the shares of their rows."""
    # The lines whose raw counts are in the table.
    listed: dict[int | None, TableRow] = {row.address: row for row in draft.table}
    for block in draft.blocks:
        if not block.rows:
            continue
        line = block.head.line if block.head else block.rows[0].text_line[0]
        row = listed.get(block.head.address) if block.head else None
        doubt = ""
        uncounted = not block.totals
        if uncounted and block.head and block.head.counts:
            doubt = "the line's raw counts are not as many as the shares of its rows"
        elif uncounted and row is None:
            doubt = "rows without the raw counts of their line: their counts are as of 10,000 samples a column"
        elif uncounted and row and _uncounted_stores(block.shares_by_value, dict(row.counts)):
            doubt = "the table has no stores: those of its rows are counted as of 10,000 samples a column"
        if doubt:
            yield Remark(doubt, line)
        columns = zip(*(rows.shares for rows in block.rows), strict=False)
        if max((sum(chain(*column)) for column in columns), default=0) > _most_shares(number_of(block.rows)):
            yield Remark("a column of shares adds up to more than 100 %: the rows are not of one line", line)
