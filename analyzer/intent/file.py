# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes intents as ``linesmith.toml`` has them, and changes the text of such a file.

What is read back is equal. Types are added behind the end, and other figures and names are put in; comments, order and
every other character stay as they are. The file of a user is replaced as a whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import IntentError, OutputError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.base.text import is_unseen
from linesmith.analyzer.base.toml import KeyPath, Statement, statements, toml_of
from linesmith.analyzer.intent.reading import MOST_BYTES, intent_in
from linesmith.analyzer.model import CACHE_LINE_BYTES, Intent, LintChoice, SizeBudget, TypeIntent

_WIDTH = 100
_INDENT = "    "
_LAST_OF_FOUR_DIGITS = 0xFFFF

ReplacementValue = int | str | tuple[str, ...]
Value = str | int | float | date | Sequence[str] | None


def written(intent: Intent) -> str:
    """The whole of a file, with an empty line between tables."""
    tables = []
    if intent.lint != LintChoice():
        choice = intent.lint
        tables.append(_table("[lint]", {"select": choice.select, "ignore": choice.ignore, "types": choice.types}))
    tables += map(_written_type, intent.types)
    for one in intent.suppressions:
        values: dict[str, Value] = {"rule": one.rule, "type": one.record}
        values |= {"member": "" if one.member == "*" else one.member, "reason": one.reason, "expires": one.expires}
        tables.append(_table("[[suppress]]", values))
    return "\n".join(tables)


def _written_type(intent: TypeIntent) -> str:
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
    tables = [_table("[[type]]", values)]
    budget = intent.budget
    if budget != SizeBudget():
        values = {"bytes": budget.bytes, "lines": budget.lines, "objects-per-slab": budget.objects_per_slab}
        tables.append(_table("[type.budget]", values))
    for group in intent.groups:
        values = {"name": group.name, "members": group.members, "lines": group.lines, "bytes": group.bytes}
        tables.append(_table("[[type.group]]", values))
    for one in intent.isolations:
        line = None if one.bytes == CACHE_LINE_BYTES else one.bytes
        values = {"members": one.members, "from": one.apart_from, "bytes": line, "phases": one.phases or None}
        tables.append(_table("[[type.isolate]]", values))
    return "\n".join(tables)


def one_line(text: str) -> str:
    """``text`` as a reason may hold it: what cannot be shown is a question mark."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def _table(header: str, values: Mapping[str, Value]) -> str:
    """A header with the keys that have a value."""
    said = (f"{key} = {_spelt(key, value)}" for key, value in values.items() if value not in (None, "", ()))
    return "".join(f"{line}\n" for line in (header, *said))


def _spelt(key: str, value: Value) -> str:
    """The value as it stands behind ``key``; a list on one line if it fits, else on as many as it takes."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date):
        return value.isoformat()
    items = [_quoted(one) for one in value or ()]
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
    """A basic string of TOML, which has no pairs as JSON has; names of a build may hold any character."""
    signs = []
    for sign in text.replace("\\", "\\\\").replace('"', '\\"'):
        number = ord(sign)
        escaped = f"\\u{number:04x}" if number <= _LAST_OF_FOUR_DIGITS else f"\\U{number:08x}"
        signs.append(escaped if is_unseen(sign) else sign)
    return f'"{"".join(signs)}"'


def add_to(path: Path, wanted: Sequence[TypeIntent]) -> None:
    """Add the types to the file at ``path``, or make it; what it has stays to the byte.

    Raises ``IntentError`` where it is no intent file or has an entry for one of the types, ``OutputError``.
    """
    known = read_regular(path, MOST_BYTES) if path.exists() or path.is_symlink() else b""
    try:
        text = known.decode()
    except UnicodeDecodeError:
        raise IntentError(f"{path} is not valid UTF-8; save it as UTF-8, or name another file") from None
    put(path, _added(text, wanted, str(path)))


def put(path: Path, text: str) -> None:
    """Make ``text`` the whole of the file at ``path``, which keeps its mode; raises ``OutputError``."""
    try:
        files.replace_file(path, text.encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another file") from None


def _added(text: str, wanted: Sequence[TypeIntent], shown: str) -> str:
    """``text``, that of the file called ``shown``, with the types behind it.

    Raises ``IntentError`` where the text is no intent file, or already says what is wanted of one of the types in the
    same configuration.
    """
    known = intent_in(text, shown)
    for one, other in ((new, old) for new in wanted for old in known.of(new.record)):
        if set(one.configuration) == set(other.configuration):
            line = other.place.rpartition(":")[2]
            raise IntentError(
                f"{shown}:{line}: {one.record} has an entry, which is not changed; write the new one to another file"
                " with -o, and merge by hand"
            )
    ending = "" if not text or text.endswith("\n") else "\n"
    parting = "\n" if text.strip() else ""
    result = f"{text}{ending}{parting}" + "\n".join(map(_written_type, wanted))
    # What a file says in inline tables cannot be gone on with behind its end.
    refusal, remedy = f"{shown}: cannot append to it", "write each type as a table `[[type]]` there"
    try:
        count = len(intent_in(result, shown).types)
    except IntentError as error:
        raise IntentError(f"{refusal} ({error}); {remedy}") from None
    if count != len(known.types) + len(wanted):
        raise IntentError(f"{refusal}; {remedy}")
    return result


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
    spans = {one: _span(text, places, one) for one in rewrites}
    # Limits of a group whose members stay as they are stay, too: they were measured on other members.
    unchanged = {one.path[:-1] for one, span in spans.items() if span is None and one.path[-1] == "members"}
    done = {one: span for one, span in spans.items() if span is not None and one.path[:-1] not in unchanged}
    result = text
    for one, (begin, end) in sorted(done.items(), key=lambda item: item[1], reverse=True):
        result = f"{result[:begin]}{_spelt(str(one.path[-1]), one.value)}{result[end:]}"
    if not _is_said(result, done, shown):
        raise IntentError(f"{shown}: cannot be updated automatically; edit it by hand, see --check")
    return Rewritten(result, tuple(one for one in spans if one not in done))


def _span(text: str, places: Mapping[KeyPath, Statement], one: Rewrite) -> tuple[int, int] | None:
    """Where the value stands that is to be replaced; ``None`` where more than it would be lost."""
    found = places.get(one.path)
    if found is not None and found.value is not None:
        return None if "#" in text[slice(*found.value)] else found.value
    table = places.get(one.path[:-1])
    if table is None or table.value is None or not isinstance(one.value, int):
        return None
    key = rf"(?<![\w-]){re.escape(str(one.path[-1]))}[ \t]*=[ \t]*([\d_]+)"
    inside = re.compile(key).search(text, table.start, table.end)
    return inside.span(1) if inside else None


def _is_said(text: str, done: Iterable[Rewrite], shown: str) -> bool:
    """Whether what is read back is what was meant."""
    try:
        intent_in(text, shown)
        values = toml_of(text, shown).values
        for one in done:
            said: Any = values
            for part in one.path:
                said = said[part]
            if said != (list(one.value) if isinstance(one.value, tuple) else one.value):
                return False
    except (IntentError, ValueError, LookupError, TypeError):
        return False
    return True
