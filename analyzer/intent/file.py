# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds a type to the text of an intent file, whose every character stays as it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import IntentError, OutputError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.base.text import is_unseen
from linesmith.analyzer.intent.reading import MOST_BYTES, intent_in
from linesmith.analyzer.intent.statements import KeyPath, Statement, statements, value_span
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Intent,
    Isolation,
    LintChoice,
    MemberGroup,
    SizeBudget,
    Suppression,
    TypeIntent,
)

# Writes intents as ``linesmith.toml`` has them; what is read back is equal.

_WIDTH = 100
_INDENT = "    "
_LAST_OF_FOUR_DIGITS = 0xFFFF

Value = str | int | float | date | Sequence[str] | None


def written(intent: Intent) -> str:
    """The whole of a file; tables are parted by an empty line."""
    tables = (*_choice(intent.lint), *map(written_type, intent.types), *map(_suppression, intent.suppressions))
    return "\n".join(tables)


def written_type(intent: TypeIntent) -> str:
    """The ``[[type]]`` of one intent with the tables in it."""
    values: dict[str, Value] = {
        "name": intent.record,
        "reason": intent.reason,
        "link": intent.link,
        "configuration": intent.configuration,
        "hot": intent.hot,
        "read-mostly": intent.read_mostly,
        "write-hot": intent.write_hot,
    }
    parts = (_table("[[type]]", values), *_budget(intent.budget))
    return "\n".join((*parts, *map(_group, intent.groups), *map(_isolation, intent.isolations)))


def one_line(text: str) -> str:
    """``text`` as a reason may hold it: what cannot be shown is a question mark."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def _choice(choice: LintChoice) -> Iterator[str]:
    if choice != LintChoice():
        yield _table("[lint]", {"select": choice.select, "ignore": choice.ignore, "types": choice.types})


def _budget(budget: SizeBudget) -> Iterator[str]:
    if budget != SizeBudget():
        values: dict[str, Value] = {"bytes": budget.bytes, "lines": budget.lines}
        yield _table("[type.budget]", {**values, "objects-per-slab": budget.objects_per_slab})


def _group(group: MemberGroup) -> str:
    values: dict[str, Value] = {"name": group.name, "members": group.members}
    return _table("[[type.group]]", {**values, "lines": group.lines, "bytes": group.bytes})


def _isolation(isolation: Isolation) -> str:
    values: dict[str, Value] = {"members": isolation.members, "from": isolation.apart_from}
    line = None if isolation.bytes == CACHE_LINE_BYTES else isolation.bytes
    return _table("[[type.isolate]]", {**values, "bytes": line, "phases": isolation.phases or None})


def _suppression(one: Suppression) -> str:
    member = "" if one.member == "*" else one.member
    values: dict[str, Value] = {"rule": one.rule, "type": one.record, "member": member}
    return _table("[[suppress]]", {**values, "reason": one.reason, "expires": one.expires})


def _table(header: str, values: dict[str, Value]) -> str:
    """A header with the keys that have a value."""
    kept = (f"{key} = {spelt(key, value)}" for key, value in values.items() if value not in (None, "", ()))
    return "".join(f"{line}\n" for line in (header, *kept))


def spelt(key: str, value: Value) -> str:
    """The value as it stands behind ``key``."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    return _list(key, value or ())


def _list(key: str, values: Iterable[str]) -> str:
    """On one line if it fits, else on as many as it takes."""
    items = [_quoted(value) for value in values]
    whole = f"[{', '.join(items)}]"
    if len(key) + len(whole) + 3 <= _WIDTH:
        return whole
    lines = [_INDENT]
    for item in items:
        if len(lines[-1]) + len(item) > _WIDTH and lines[-1] != _INDENT:
            lines[-1] = lines[-1].rstrip()
            lines.append(_INDENT)
        lines[-1] += f"{item}, "
    return "\n".join(("[", *lines[:-1], lines[-1].rstrip(), "]"))


def _quoted(text: str) -> str:
    """A basic string of TOML; names of a build may hold any character."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(_escaped(one) if is_unseen(one) else one for one in escaped)}"'


def _escaped(character: str) -> str:
    """As TOML writes it, which has no pairs as JSON has."""
    number = ord(character)
    return f"\\u{number:04x}" if number <= _LAST_OF_FOUR_DIGITS else f"\\U{number:08x}"


def added(text: str, wanted: Sequence[TypeIntent], shown: str) -> str:
    """``text``, that of the file called ``shown``, with the types behind it.

    Raises ``IntentError`` where the text is no intent file, or already says what is wanted of one of the types in the
    same configuration.
    """
    known = intent_in(text, shown)
    for one in wanted:
        _refuse_second(known, one, shown)
    ending = "" if not text or text.endswith("\n") else "\n"
    parting = "\n" if text.strip() else ""
    result = f"{text}{ending}{parting}" + "\n".join(map(written_type, wanted))
    _check_added(result, len(known.types) + len(wanted), shown)
    return result


def _check_added(result: str, expected: int, shown: str) -> None:
    """What a file says in inline tables cannot be gone on with behind its end."""
    try:
        count = len(intent_in(result, shown).types)
    except IntentError as error:
        message = f"{shown}: nothing can be added behind its end ({error}); write each type as a table `[[type]]` there"
        raise IntentError(message) from None
    if count != expected:
        raise IntentError(f"{shown}: nothing can be added behind its end; write each type as a table `[[type]]` there")


def _refuse_second(known: Intent, wanted: TypeIntent, shown: str) -> None:
    for one in known.of(wanted.record):
        if set(one.configuration) == set(wanted.configuration):
            line = one.place.rpartition(":")[2]
            raise IntentError(
                f"{shown}:{line}: {wanted.record} has an entry, which stays as it is; write the new one elsewhere with "
                "-o, and take from it by hand what is better"
            )


# The intent file of a user, to which types are added: it is replaced as a whole or not at all.


def add_to(path: Path, wanted: Sequence[TypeIntent]) -> None:
    """Add the types to the file at ``path``, or make it; what it has stays to the byte.

    Raises ``IntentError`` where it is no intent file or has an entry for one of the types, ``OutputError``.
    """
    known = read_regular(path, MOST_BYTES) if path.exists() or path.is_symlink() else b""
    try:
        text = known.decode()
    except UnicodeDecodeError:
        raise IntentError(f"{path} is no UTF-8; save it as UTF-8, or name another file") from None
    put(path, added(text, wanted, str(path)))


def put(path: Path, text: str) -> None:
    """Make ``text`` the whole of the file at ``path``, which keeps its mode; raises ``OutputError``."""
    try:
        files.replace_file(path, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another file") from None


# Puts other figures and names into the text of an intent file; comments, order and all else stay as they are.

ReplacementValue = int | str | tuple[str, ...]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What the key at ``path`` is to say from now on: ``("type", 0, "budget", "bytes")``."""

    path: KeyPath
    value: ReplacementValue


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


def _span(text: str, places: Mapping[KeyPath, Statement], one: Rewrite) -> Span | None:
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


def _plain(value: ReplacementValue) -> object:
    return list(value) if isinstance(value, tuple) else value


def _at(values: object, path: KeyPath) -> object:
    for part in path:
        values = values[part]  # type: ignore[index] # what is no table or list raises, and counts as not sound
    return values
