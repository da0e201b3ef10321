# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads ``linesmith.toml``: nothing in it can name a command or a file, and what is not known is an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import NoReturn

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.intent.statements import MOST_LEVELS, KeyPath, TooDeep, statements
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    NO_INTENT,
    Intent,
    Isolation,
    LintChoice,
    MemberGroup,
    SizeBudget,
    Suppression,
    TypeIntent,
)

# One table of an intent file, read strictly: each value is of its type, or an error names its line.

# Rules compare members in pairs: no record has more of them, and a list that is longer would take long.
MOST_NAMES = 512
MOST_QUOTED = 60

_MEMBER = re.compile(r"[A-Za-z_]\w*(\[\d+\])*(\.[A-Za-z_]\w*(\[\d+\])*)*", re.ASCII)


def shortened(value: str) -> str:
    """What the user wrote, as a message quotes it."""
    return repr(value if len(value) <= MOST_QUOTED else f"{value[:MOST_QUOTED]}…")


@dataclass(frozen=True, slots=True)
class Source:
    """The file as messages name it, as places name it, and the line of each path in it."""

    shown: str
    name: str
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """The line of ``path`` (of an array of tables that of the first), or of what it is part of."""
        for length in range(len(path), 0, -1):
            for known in (path[:length], (*path[:length], 0)):
                if known in self.lines:
                    return self.lines[known]
        return 1


@dataclass(frozen=True, slots=True)
class Table:
    """``values`` of the table at ``path``; each question names a key. All raise ``IntentError``."""

    values: Mapping[str, object]
    path: KeyPath
    source: Source

    @property
    def place(self) -> str:
        """Where it begins: ``linesmith.toml:12``."""
        return f"{self.source.name}:{self.source.line(self.path)}"

    def refuse(self, sentence: str, key: str = "") -> NoReturn:
        """Raise ``IntentError`` with the line of ``key``, or of the table."""
        line = self.source.line((*self.path, key) if key else self.path)
        raise IntentError(f"{self.source.shown}:{line}: {sentence}; docs/intent.md lists what may stand there")

    def only(self, keys: Collection[str]) -> None:
        """Refuse keys that are none of ``keys``."""
        for key in self.values:
            if key not in keys:
                from difflib import get_close_matches  # only a mistake needs it

                near = get_close_matches(key, keys, 1)
                meant = f" (did you mean `{near[0]}`?)" if near else ""
                self.refuse(f"there is no {shortened(key)} here{meant}", key)

    def text(self, key: str, required: str = "") -> str:
        """One line of text, empty where there is none; ``required`` says what it is for where it must be there."""
        value = self.values.get(key, "")
        if not isinstance(value, str) or not value.isprintable():
            self.refuse(f"`{key}` is one line of text", key)
        if required and not value.strip():
            self.refuse(f"`{key}` is missing: {required}", key)
        return value.strip()

    def texts(self, key: str, what: str, form: re.Pattern[str]) -> tuple[str, ...]:
        """A list of different texts that ``form`` matches wholly; ``what`` they are goes into the message."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            self.refuse(f"`{key}` is a list of {what}", key)
        if len(values) > MOST_NAMES:
            self.refuse(f"`{key}` has {len(values)} entries, more than the {MOST_NAMES} that are allowed", key)
        for value in values:
            if not form.fullmatch(value):
                self.refuse(f"`{key}` is a list of {what}, and {shortened(value)} is none", key)
        return tuple(dict.fromkeys(values))

    def members(self, key: str) -> tuple[str, ...]:
        """A list of members' paths."""
        return self.texts(key, "members such as `a` or `a.b`", _MEMBER)

    def count(self, key: str) -> int | None:
        """A number above 0, ``None`` where it is not given."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 32:
            self.refuse(f"`{key}` is a number above 0", key)
        return value

    def share(self, key: str) -> float:
        """A number from 0 to 1; 0 where it is not given."""
        value = self.values.get(key, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.refuse(f"`{key}` is a share from 0 to 1", key)
        return float(value)

    def day(self, key: str) -> date | None:
        """A date, ``None`` where it is not given."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, date) or isinstance(value, datetime):
            self.refuse(f"`{key}` is a date without quotes, as 2027-01-31", key)
        return value

    def table(self, key: str) -> Table:
        """The table ``[… .key]``, an empty one where it is not given."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.refuse(f"`{key}` is a table, `[{self._header(key)}]`", key)
        return Table(value, (*self.path, key), self.source)

    def tables(self, key: str, most: int) -> Iterator[Table]:
        """Each table ``[[… .key]]`` in turn, ``most`` of them at most."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.refuse(f"each `{key}` is a table of its own, `[[{self._header(key)}]]`", key)
        if len(values) > most:
            self.refuse(f"there are {len(values)} tables `[[{self._header(key)}]]`, more than the {most} allowed", key)
        for number, value in enumerate(values):
            yield Table(value, (*self.path, key, number), self.source)

    def _header(self, key: str) -> str:
        return ".".join((*(part for part in self.path if isinstance(part, str)), key))


FILE_NAME = "linesmith.toml"
MOST_BYTES = 1 << 20
# Types and suppressions of a file; groups, and isolations, of a type: what is compared in pairs stays small.
MOST_ENTRIES = 4096
MOST_PARTS = 64

_LINES = (32, 64, 128, 256)  # of what CPUs have, and pairs of it
_KEYWORDS = ("struct ", "union ", "class ")
_RULE = re.compile(r"[a-z0-9*?\[\]-]+")
_PATTERN = re.compile(r"[^\s\x00-\x1f\x7f]{1,256}")
_TYPE = re.compile(r"(?:(?:struct|union|class) )?[^\s\x00-\x1f\x7f]{1,256}")
_SYMBOL = re.compile(r"!?CONFIG_\w+", re.ASCII)
_LINK = re.compile(r"https?://[^\s<>\"'`]+|[0-9a-f]{7,64}( \(.+\))?")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")


def read_intent(path: Path) -> Intent:
    """The intents in the file at ``path``; raises ``IntentError``, which names the file and the line in it."""
    content = read_regular(path, MOST_BYTES)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise IntentError(f"{path}:{line}: a byte that is no UTF-8; save the file as UTF-8") from None
    return intent_in(text, str(path), path.name)


def intent_of_tree(tree: Path) -> Intent:
    """The intents in ``linesmith.toml`` in the root of a tree; none where there is no such file.

    Raises ``IntentError``.
    """
    path = tree / FILE_NAME
    return read_intent(path) if path.exists() or path.is_symlink() else NO_INTENT


def intent_in(text: str, shown: str = FILE_NAME, name: str = FILE_NAME) -> Intent:
    """What ``text`` says; ``shown`` is what errors call its file, ``name`` what places do. Raises ``IntentError``."""
    import tomllib  # costs 3 ms, and most trees have no such file

    try:
        lines = {one.path: one.line for one in statements(text)}
        values = tomllib.loads(text)
    except TooDeep as error:
        raise IntentError(f"{shown}:{error.line}: nested more than {MOST_LEVELS} deep; write it flatter") from None
    except (ValueError, RecursionError) as error:
        raise IntentError(_no_toml(text, shown, str(error))) from None
    top = Table(values, (), Source(shown, name, lines))
    top.only(("lint", "type", "suppress", "defaults"))
    top.table("defaults")  # what it says is for the command line, which reads it itself
    return Intent(
        shown,
        tuple(_type(one) for one in top.tables("type", MOST_ENTRIES)),
        tuple(_suppression(one) for one in top.tables("suppress", MOST_ENTRIES)),
        _choice(top.table("lint")),
    )


def _no_toml(text: str, shown: str, said: str) -> str:
    """The sentence for what ``tomllib`` says, with the line in front."""
    match = _AT_LINE.search(said)
    line = (match[1] if match else None) or text.count("\n") + 1
    return f"{shown}:{line}: this is no TOML: {_AT_LINE.sub('', said)}; mend that line"


def _choice(table: Table) -> LintChoice:
    table.only(("select", "ignore", "types"))
    select, ignore = (table.texts(key, "rules or `all`", _RULE) for key in ("select", "ignore"))
    types = table.texts("types", "types' names or patterns", _TYPE)
    return LintChoice(select, ignore, tuple(map(_bare, types)))


def _type(table: Table) -> TypeIntent:
    table.only(
        ("name", "reason", "link", "configuration", "hot", "read-mostly", "write-hot", "budget", "group", "isolate")
    )
    return TypeIntent(
        record=_bare(_matching(table, "name", _TYPE, "the name of a struct or union", "it says what is meant")),
        reason=table.text("reason", "it says why the layout is to be so"),
        link=_matching(table, "link", _LINK, "a commit or an http(s) address"),
        configuration=_conditions(table),
        groups=_groups(table),
        isolations=tuple(_isolation(one) for one in table.tables("isolate", MOST_PARTS)),
        budget=_budget(table.table("budget")),
        hot=table.members("hot"),
        read_mostly=table.members("read-mostly"),
        write_hot=table.members("write-hot"),
        place=table.place,
    )


def _matching(table: Table, key: str, form: re.Pattern[str], what: str, required: str = "") -> str:
    value = table.text(key, required)
    if value and not form.fullmatch(value):
        table.refuse(f"`{key}` is {what}, and {shortened(value)} is none", key)
    return value


def _bare(name: str) -> str:
    """The name without ``struct``."""
    return next((name.removeprefix(word) for word in _KEYWORDS if name.startswith(word)), name)


def _conditions(table: Table) -> tuple[str, ...]:
    key = "configuration"
    conditions = table.texts(key, "symbols such as `CONFIG_SMP` or `!CONFIG_SMP`", _SYMBOL)
    for one in conditions:
        if f"!{one}" in conditions:
            table.refuse(f"{one} cannot be set and not set, so this would never apply", key)
    return conditions


def _groups(table: Table) -> tuple[MemberGroup, ...]:
    groups: dict[str, MemberGroup] = {}
    for one in table.tables("group", MOST_PARTS):
        group = _group(one)
        if group.name in groups:
            one.refuse(f"the type has a group `{group.name}` already", "name")
        groups[group.name] = group
    return tuple(groups.values())


def _group(table: Table) -> MemberGroup:
    table.only(("name", "members", "lines", "bytes"))
    name = _matching(table, "name", _PATTERN, "one word", "it tells groups apart")
    return MemberGroup(name, _some_members(table), table.count("lines"), table.count("bytes"))


def _isolation(table: Table) -> Isolation:
    table.only(("members", "from", "bytes", "phases"))
    members, apart_from = _some_members(table), table.members("from")
    for one in set(members) & set(apart_from):
        table.refuse(f"`{one}` cannot be isolated from itself", "from")
    line = table.count("bytes") or CACHE_LINE_BYTES
    if line not in _LINES:
        table.refuse(f"`bytes` is the size of a cache line or a pair of them: {', '.join(map(str, _LINES))}", "bytes")
    return Isolation(members, apart_from, line, table.share("phases"))


def _some_members(table: Table) -> tuple[str, ...]:
    members = table.members("members")
    if not members:
        table.refuse("`members` names none", "members")
    return members


def _budget(table: Table) -> SizeBudget:
    table.only(("bytes", "lines", "objects-per-slab"))
    return SizeBudget(table.count("bytes"), table.count("lines"), table.count("objects-per-slab"))


def _suppression(table: Table) -> Suppression:
    table.only(("rule", "type", "member", "reason", "expires"))
    return Suppression(
        rule=_matching(table, "rule", _RULE, "a rule or a pattern", "it says what is accepted"),
        record=_bare(_matching(table, "type", _TYPE, "a type's name or a pattern", "it says where")),
        reason=table.text("reason", "it says why that may be"),
        member=_matching(table, "member", _PATTERN, "a member or a pattern") or "*",
        expires=table.day("expires"),
        place=table.place,
    )
