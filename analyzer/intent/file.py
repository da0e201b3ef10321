# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes intents as ``linesmith.toml`` has them, and adds them to such a file.

What is read back is equal. Types are added behind the end; every other character stays as it is. The file of a user is
replaced as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import IntentError, OutputError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.base.text import is_unseen
from linesmith.analyzer.intent.reading import MOST_BYTES, intent_in
from linesmith.analyzer.model import CACHE_LINE_BYTES, SizeBudget, TypeIntent

_WIDTH = 100
_INDENT = "    "
_LAST_OF_FOUR_DIGITS = 0xFFFF

Value = str | int | float | Sequence[str] | None


def written(intent: TypeIntent) -> str:
    """The ``[[type]]`` of an intent with the tables in it, an empty line between them."""
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


def add_to(path: Path, wanted: TypeIntent) -> None:
    """Add the type to the file at ``path``, or make it; what it has stays to the byte, and its mode.

    Raises ``IntentError`` where it is no intent file or has an entry for the type, ``OutputError``.
    """
    known = read_regular(path, MOST_BYTES) if path.exists() or path.is_symlink() else b""
    try:
        text = known.decode()
    except UnicodeDecodeError:
        raise IntentError(f"{path} is not valid UTF-8; save it as UTF-8, or name another file") from None
    added = _added(text, wanted, str(path))
    try:
        files.replace_file(path, added.encode())
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}; name another file") from None


def _added(text: str, wanted: TypeIntent, shown: str) -> str:
    """``text``, that of the file called ``shown``, with the type behind it.

    Raises ``IntentError`` where the text is no intent file, or already says what is wanted of the type in the same
    configuration.
    """
    known = intent_in(text, shown)
    for one in known.of(wanted.record):
        if set(one.configuration) == set(wanted.configuration):
            raise IntentError(
                f"{shown}:{one.place.rpartition(':')[2]}: {wanted.record} has an entry, which is not changed; write the"
                " new one to another file with -o, and merge by hand"
            )
    ending = "" if not text or text.endswith("\n") else "\n"
    parting = "\n" if text.strip() else ""
    result = f"{text}{ending}{parting}{written(wanted)}"
    # What a file says in inline tables cannot be gone on with behind its end.
    refusal, remedy = f"{shown}: cannot append to it", "write each type as a table `[[type]]` there"
    try:
        count = len(intent_in(result, shown).types)
    except IntentError as error:
        raise IntentError(f"{refusal} ({error}); {remedy}") from None
    if count != len(known.types) + 1:
        raise IntentError(f"{refusal}; {remedy}")
    return result
