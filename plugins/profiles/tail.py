# SPDX-License-Identifier: GPL-2.0-or-later
"""The words at the end of a row: symbol, shared object, source line, and the list of nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linesmith.plugins.profiles import columns as c
from linesmith.plugins.profiles.columns import Columns
from linesmith.plugins.profiles.tokens import Cursor, Kind, Token

_MOST_WORDS = 48
_MOST_WRAPPED_WORDS = 5
_MOST_NODE_WORDS = 256
_FEWEST_TOTALS = 5
_CUT_SOURCE = 30  # SYMBOL_WIDTH of builtin-c2c.c: a long name's own source has lost its +12
_BRACKET = re.compile(r"[<>()]")
_NOTE = ("<-", "<=", "^", "//", "/*")
_STOP = frozenset((Kind.PERCENT, Kind.RULE, Kind.BANNER, Kind.MARGIN, Kind.GRAPH, Kind.MODE, Kind.END))
_NODE_WORD = re.compile(r"\d{1,4}\{.*", re.ASCII)
_SOURCE = re.compile(r"\?\?:0$|.*[^+]\+\d+$|.*:\d+$|[^\[]+\[[0-9a-f]+\]$", re.ASCII)
_OBJECT = re.compile(r"\[[^\[\]]+\]$|.*\.so(?:[.\-]\w+)*$|.*\.(?:ko|map|exe)$|/.*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Tail:
    """What follows the counts of a row; ``words`` is how many tokens it took."""

    symbol: str | None = None
    object_file: str | None = None
    source: str | None = None
    nodes: str | None = None
    words: int = 0


def read_tail(cursor: Cursor, start: int, shares: int, heading: Columns | None, marked: bool) -> Tail:
    """The end of the row whose cells end at ``start``; ``marked``: a ``[k]`` or ``[.]`` stands in front.

    Ends where the next row, a rule, a heading or a call graph begins, or at the end of the line when the
    row is whole. ``heading`` tells which columns to expect; without it the words themselves tell.
    """
    wanted = _wanted(heading, marked)
    texts = _texts(cursor, start, wanted)
    nodes = _nodes(cursor, start + len(texts), shares)
    fields = _fields(texts, wanted)
    listed = " ".join(token.text for token in nodes)
    return Tail(*fields, nodes=listed or None, words=len(texts) + len(nodes))


def _wanted(heading: Columns | None, marked: bool) -> tuple[bool, bool, bool]:
    """Whether symbol, object and source are to be expected."""
    if heading is None:
        return marked, True, marked
    return c.SYMBOL in heading, c.OBJECT in heading, c.SOURCE in heading


def _texts(cursor: Cursor, start: int, wanted: tuple[bool, bool, bool]) -> list[Token]:
    """The tokens of symbol, object and source."""
    found: list[Token] = []
    while any(wanted) and len(found) < _MOST_WORDS:
        token = cursor.peek(start + len(found))
        if token.kind in _STOP or token.text.startswith(_NOTE) or _complete(found, wanted):
            break
        if token.gap < 0 and not _continues(cursor, start + len(found)):
            break
        if (found or not wanted[0]) and _is_node(token):
            break
        found.append(token)
    return _plausible(found)


def _plausible(found: list[Token]) -> list[Token]:
    """Without the words that follow a cut row in collapsed text: only names with brackets have blanks in them."""
    bracketed = [at for at, token in enumerate(found) if _BRACKET.search(token.text)]
    symbol = bracketed[-1] + 1 if bracketed else 1
    if len(found) <= symbol + 1 or any(token.gap > 1 for token in found):
        return found
    source = found[symbol + 1].text
    if _SOURCE.match(source) or (len(source) == _CUT_SOURCE and source.startswith(found[0].text)):
        return found[: symbol + 2]
    if len(found) == symbol + 2 or _OBJECT.match(found[symbol].text):
        return found[: symbol + 1]
    return found[:symbol]


def _is_node(token: Token) -> bool:
    return token.kind is Kind.INTEGER or _NODE_WORD.match(token.text) is not None


def _complete(found: list[Token], wanted: tuple[bool, bool, bool]) -> bool:
    """Whether the words so far end in the last column that is expected."""
    symbol, has_object, source = wanted
    if len(found) < max(symbol + has_object, 1):
        return False
    last = found[-1].text
    if source:
        return _SOURCE.match(last) is not None
    return not symbol or _OBJECT.match(last) is not None


def _continues(cursor: Cursor, at: int) -> bool:
    """Whether the line that begins at ``at`` is the rest of a row that a mail wrapped.

    It is when it holds a few words, the last of which looks like a source or an object or is followed by
    nodes, and nothing else.
    """
    words = _word_run(cursor, at)
    if not 0 < words <= _MOST_WRAPPED_WORDS:
        return False
    listed = _only_nodes(cursor, at + words)
    ended = cursor.peek(at + words).gap < 0
    last = cursor.peek(at + words - 1).text
    return listed or (ended and bool(_SOURCE.match(last) or _OBJECT.match(last)))


def _word_run(cursor: Cursor, start: int) -> int:
    """Number of words from ``start`` to the end of its line that are neither nodes nor the next row."""
    line = cursor.peek(start).line
    words = 0
    while words <= _MOST_WRAPPED_WORDS:
        token = cursor.peek(start + words)
        if token.line != line or token.kind in _STOP or _is_node(token):
            break
        words += 1
    return words


def _fields(texts: list[Token], wanted: tuple[bool, bool, bool]) -> tuple[str | None, str | None, str | None]:
    """Symbol, object and source; by the columns' margins where they are left, by their looks where not."""
    groups = _margins(texts)
    symbol, has_object, source = wanted
    if len(groups) == symbol + has_object + source > 1:
        cells = iter(groups)
        return tuple(next(cells) if want else None for want in wanted)  # type: ignore[return-value]
    words = [token.text for token in texts]
    end = _source_start(words, has_object) if source else len(words)
    place = max(end - 1, 1) if symbol else 0
    return _joined(words[:place] if symbol else []), _joined(words[place:end]), _joined(words[end:])


def _joined(words: list[str]) -> str | None:
    return " ".join(words) or None


def _margins(texts: list[Token]) -> list[str]:
    """The words joined into cells: perf puts two blanks between columns and pads them."""
    cells: list[str] = []
    for token in texts:
        if cells and token.gap == 1:
            cells[-1] += " " + token.text
        else:
            cells.append(token.text)
    return cells


def _source_start(words: list[str], has_object: bool) -> int:
    """Where the source begins: a source without debug information repeats the symbol, blanks and all."""
    for at in range(1 + has_object, len(words)):
        if words[at] == words[0] or words[at].startswith(words[0] + "+"):
            return at
    known = _bracketed(words)
    if known:
        return known + 1
    return len(words) - 1 if len(words) > 1 and _SOURCE.match(words[-1]) else len(words)


def _bracketed(words: list[str]) -> int:
    """Place of an object that perf writes in brackets (kernel, module, vdso), 0 if there is none."""
    return next((at for at in range(1, len(words)) if words[at][0] == "[" and words[at][-1] == "]"), 0)


def _nodes(cursor: Cursor, start: int, shares: int) -> list[Token]:
    """The list of nodes; the totals of the next line may follow it without a rule and are left alone."""
    found: list[Token] = []
    inside = False
    while len(found) < _MOST_NODE_WORDS:
        token = cursor.peek(start + len(found))
        if token.kind is Kind.END or not (inside or _is_node(token)):
            break
        if token.gap < 0 and not inside and not _only_nodes(cursor, start + len(found)):
            break
        inside = (inside or "{" in token.text) and not token.text.endswith("}")
        found.append(token)
    if cursor.peek(start + len(found)).kind is Kind.HEX and len(found) >= _FEWEST_TOTALS:
        del found[max(len(found) - shares - 1, 0) :]
    return found


def _only_nodes(cursor: Cursor, start: int) -> bool:
    """Whether the line goes on from ``start`` with nodes and nothing else, and no line's head begins there."""
    line = cursor.peek(start).line
    at, inside = start, False
    while (token := cursor.peek(at)).line == line and at - start < _MOST_WORDS:
        if not (inside or _is_node(token)):
            return False
        inside = (inside or "{" in token.text) and not token.text.endswith("}")
        at += 1
    return at > start and cursor.peek(at).kind is not Kind.HEX
