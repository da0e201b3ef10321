# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts other figures and names into the text of an intent file; comments, order and all else stay as they are."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent.reading import intent_in
from linesmith.analyzer.intent.statements import Path, Statement, statements, value_span
from linesmith.analyzer.intent.writing import spelt

Value = int | str | tuple[str, ...]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What the key at ``path`` is to say from now on: ``("type", 0, "budget", "bytes")``."""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The new text, and what has to be changed by hand: names without their comments, keys in inline tables."""

    text: str
    left: tuple[Rewrite, ...] = ()


def rewritten(text: str, rewrites: Iterable[Rewrite], shown: str) -> Rewritten:
    """The text of the file called ``shown`` with the rewrites in it; raises ``IntentError`` where it is none."""
    intent_in(text, shown)
    places = {one.path: one for one in statements(text)}
    spans = _whole_groups({one: _span(text, places, one) for one in rewrites})
    result = text
    for one, span in sorted(spans.items(), key=lambda item: item[1] or (0, 0), reverse=True):
        if span is not None:
            result = f"{result[: span[0]]}{spelt(str(one.path[-1]), one.value)}{result[span[1] :]}"
    _check(result, [one for one, span in spans.items() if span is not None], shown)
    return Rewritten(result, tuple(one for one, span in spans.items() if span is None))


def _whole_groups(spans: Mapping[Rewrite, Span | None]) -> dict[Rewrite, Span | None]:
    """Limits of a group whose members stay as they are stay, too: they were measured on other members."""
    kept = {one.path[:-1] for one, span in spans.items() if span is None and one.path[-1] == "members"}
    return {one: None if one.path[:-1] in kept else span for one, span in spans.items()}


def _span(text: str, places: Mapping[Path, Statement], one: Rewrite) -> Span | None:
    """Where the value stands that is to be replaced; ``None`` where more than it would be lost."""
    found = places.get(one.path)
    if found is not None:
        begin, end = value_span(text, found)
        return None if "#" in text[begin:end] else (begin, end)
    table = places.get(one.path[:-1])
    if table is None or table.header or not isinstance(one.value, int):
        return None
    inside = re.compile(rf"(?<![\w-]){re.escape(str(one.path[-1]))}[ \t]*=[ \t]*([\d_]+)").search(
        text, table.start, table.end
    )
    return inside.span(1) if inside else None


def _check(result: str, done: Iterable[Rewrite], shown: str) -> None:
    """What is read back must be what was meant."""
    try:
        intent_in(result, shown)
        values = tomllib.loads(result)
        sound = all(_at(values, one.path) == _plain(one.value) for one in done)
    except (IntentError, ValueError, LookupError, TypeError):
        sound = False
    if not sound:
        raise IntentError(f"{shown}: it is written in a way that cannot be changed here; mend it by hand, see --check")


def _plain(value: Value) -> object:
    return list(value) if isinstance(value, tuple) else value


def _at(values: object, path: Path) -> object:
    for part in path:
        values = values[part]  # type: ignore[index] # what is no table or list raises, and counts as not sound
    return values
