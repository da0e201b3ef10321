# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes intents as ``linesmith.toml`` has them; what is read back is equal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from linesmith.analyzer.base.visible import is_unseen
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
