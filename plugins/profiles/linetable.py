# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of the shared-lines table, and the raw counts that stand between rules in the distribution."""

from __future__ import annotations

from linesmith.analyzer.model import CACHE_LINE_BYTES
from linesmith.plugins.profiles.columns import TABLE_FORMS, TableForm, table_form
from linesmith.plugins.profiles.pieces import LineHead, TableRow
from linesmith.plugins.profiles.tokens import Cursor, Kind

_INTEGER = frozenset((Kind.INTEGER,))
_SHARE = frozenset((Kind.PERCENT,))
_CELL = frozenset((Kind.INTEGER, Kind.NODE))
_MOST_CELLS = 24
# Up to 5.10 the records stand in front of the share.
_OLD_CELLS = {len(form.before): form.before for form in TABLE_FORMS if "records" in form.before}
_OLD_VALUES = ("total", "local", "remote", "stores", "stores_l1_hit", "stores_l1_miss")
_NEW_VALUES = ("total", "local", "remote", "records", "loads", "stores")
_TOTALS = range(3, 8)
_SURE_TOTALS = 4  # perf prints no fewer; authors who cut columns do
_RULES = frozenset((Kind.RULE, Kind.DASHES))
_SMALLEST_ADDRESS = 0x1000


def read_table_row(cursor: Cursor, peer: bool | None) -> tuple[TableRow, int] | None:
    """The table row at the cursor and its number of words; ``peer``: what the heading said, if there was one."""
    if cursor.peek().kind is not Kind.INTEGER or cursor.peek(1).kind is not Kind.HEX:
        return None
    before = cursor.run(_CELL, 2, 4)
    share = cursor.peek(2 + before)
    if share.kind is not Kind.PERCENT or cursor.peek(3 + before).kind is not Kind.INTEGER:
        return None
    form, count = _form(cursor, before, peer)
    cells = [int(cursor.peek(3 + before + at).text) for at in range(count)]
    values = form.values if form else _first_values(before, cells)
    counts = [(value, cell) for value, cell in zip(values, cells, strict=False) if value]
    for at, value in enumerate(form.before if form else _OLD_CELLS.get(before, ()) if values else ()):
        if value and cursor.peek(2 + at).kind is Kind.INTEGER:
            counts.append((value, int(cursor.peek(2 + at).text)))
    row = TableRow(
        int(cursor.peek().text),
        int(cursor.peek(1).text, 16),
        float(share.text[:-1]) / 100,
        tuple(counts),
        form,
        cursor.peek().line,
    )
    return row, 3 + before + count


def _form(cursor: Cursor, before: int, peer: bool | None) -> tuple[TableForm | None, int]:
    """The generation of the row at the cursor and how many counts follow its share.

    The counts end with the line, or (collapsed or wrapped text) where the next row's number and address begin.
    """
    start = 3 + before
    every = cursor.run(_INTEGER, start, _MOST_CELLS)
    every -= cursor.peek(start + every).kind is Kind.HEX
    on_line = min(1, every)
    while on_line < every and cursor.peek(start + on_line).gap >= 0:
        on_line += 1
    for count in (on_line, every):
        form = table_form(before, count, peer)
        if form is not None:
            return form, count
    return None, on_line


def _first_values(before: int, cells: list[int]) -> tuple[str, ...]:
    """What the counts of a row are that was cut, as far as their sums prove it.

    In every generation total, local and remote stand first behind the share; then stores and their kinds, or, from
    5.11 on, records, loads and stores.
    """
    if len(cells) < 3 or cells[0] != cells[1] + cells[2]:
        return ()
    values = _OLD_VALUES if before in _OLD_CELLS else _NEW_VALUES
    proven = len(cells) > 5 and cells[3] == cells[4] + cells[5]
    return values[: 6 if proven else 3]


def read_line_head(cursor: Cursor, behind_rule: bool) -> tuple[LineHead, int] | None:
    """The head of a line in the distribution and its number of words; ``behind_rule``: a dashed line precedes it.

    A head is counts and an address, followed by a rule or by the first row's shares. Between two rules
    the address may be missing. In a copied terminal window it is the word ``Cacheline`` and the address.
    """
    if cursor.peek().text == "Cacheline" and cursor.peek(1).kind is Kind.HEX:
        head = LineHead(None, int(cursor.peek(1).text, 16), (), cursor.peek().line)
        return head, 2
    number = cursor.run(_INTEGER, 0, _TOTALS.stop)
    if number not in _TOTALS:
        return None
    has_address = cursor.peek(number).kind is Kind.HEX
    address = int(cursor.peek(number).text, 16) if has_address else None
    follower = cursor.peek(number + has_address).kind
    closed = follower in _RULES or (has_address and follower is Kind.PERCENT)
    if number < _SURE_TOTALS and not (closed and (behind_rule if address is None else _begins_line(address))):
        return None
    if not closed and not (behind_rule and has_address):
        return None
    counts = tuple(int(cursor.peek(at).text) for at in range(number))
    words = number + has_address
    return LineHead(None, address, counts, cursor.peek().line, _shares_below(cursor, words)), words


def _shares_below(cursor: Cursor, at: int) -> int:
    """How many shares the row below the rule at ``at`` begins with, 0 where no row follows."""
    at += cursor.run(_RULES, at, _MOST_CELLS)
    return cursor.run(_SHARE, at, _TOTALS.stop)


def _begins_line(address: int) -> bool:
    """Whether this can be the address of a cache line; smaller ones are offsets."""
    return address >= _SMALLEST_ADDRESS and address % CACHE_LINE_BYTES == 0
