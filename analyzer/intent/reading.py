# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads ``linesmith.toml``: nothing in it can name a command or a file, and what is not known is an error.

Each value is of its type, or an error names its line and what may stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import NoReturn

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.base.toml import KeyPath, TomlError, TomlText, decoded, toml_of
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

FILE_NAME = "linesmith.toml"
MOST_BYTES = 1 << 20
# Types and suppressions of a file; groups, and isolations, of a type: what is compared in pairs stays small.
MOST_ENTRIES = 4096
MOST_PARTS = 64
# Rules compare members in pairs: no record has more of them, and a list that is longer would take long.
MOST_NAMES = 512
MOST_QUOTED = 60

_LINES = (32, 64, 128, 256)  # of what CPUs have, and pairs of it
_KEYWORDS = ("struct ", "union ", "class ")
_MEMBER = re.compile(r"[A-Za-z_]\w*(\[\d+\])*(\.[A-Za-z_]\w*(\[\d+\])*)*", re.ASCII)
_RULE = re.compile(r"[a-z0-9*?\[\]-]+")
_PATTERN = re.compile(r"[^\s\x00-\x1f\x7f]{1,256}")
_TYPE = re.compile(r"(?:(?:struct|union|class) )?[^\s\x00-\x1f\x7f]{1,256}")
_SYMBOL = re.compile(r"!?CONFIG_\w+", re.ASCII)
_LINK = re.compile(r"https?://[^\s<>\"'`]+|[0-9a-f]{7,64}( \(.+\))?")
_TYPE_KEYS = (
    *("name", "reason", "link", "configuration", "hot", "read-mostly", "write-hot"),
    *("budget", "group", "isolate"),
)
_BUDGET_KEYS = ("bytes", "lines", "objects-per-slab")


def read_intent(path: Path) -> Intent:
    """The intents in the file at ``path``; raises ``IntentError``, which names the file and the line in it."""
    try:
        return intent_in(decoded(read_regular(path, MOST_BYTES), str(path)), str(path), path.name)
    except TomlError as error:
        raise IntentError(str(error)) from None


def intent_of_tree(tree: Path) -> Intent:
    """The intents in ``linesmith.toml`` in the root of a tree; none where there is no such file.

    Raises ``IntentError``.
    """
    path = tree / FILE_NAME
    return read_intent(path) if path.exists() or path.is_symlink() else NO_INTENT


def intent_in(text: str, shown: str = FILE_NAME, name: str = FILE_NAME) -> Intent:
    """What ``text`` says; ``shown`` is what errors call its file, ``name`` what places do. Raises ``IntentError``."""
    try:
        read = toml_of(text, shown)
    except TomlError as error:
        raise IntentError(str(error)) from None
    top = _IntentTable(read.values, (), read, name)
    top.only("lint", "type", "suppress", "defaults")
    top.table("defaults")  # what it says is for the command line, which reads it itself
    return Intent(
        shown,
        tuple(map(_type, top.tables("type", MOST_ENTRIES))),
        tuple(map(_suppression, top.tables("suppress", MOST_ENTRIES))),
        _choice(top.table("lint")),
    )


def _choice(table: _IntentTable) -> LintChoice:
    table.only("select", "ignore", "types")
    select, ignore = (table.texts(key, "rules or `all`", _RULE) for key in ("select", "ignore"))
    types = table.texts("types", "types' names or patterns", _TYPE)
    return LintChoice(select, ignore, tuple(map(_bare, types)))


def _type(table: _IntentTable) -> TypeIntent:
    table.only(*_TYPE_KEYS)
    record = _bare(table.word("name", _TYPE, "the name of a struct or union", "it says what is meant"))
    reason = table.text("reason", "it says why the layout is to be so")
    link = table.word("link", _LINK, "a commit or an http(s) address")
    conditions = table.texts("configuration", "symbols such as `CONFIG_SMP` or `!CONFIG_SMP`", _SYMBOL)
    for one in conditions:
        if f"!{one}" in conditions:
            table.refuse(f"{one} cannot be set and not set, so this would never apply", "configuration")
    groups = tuple(_groups(table))
    isolations = tuple(map(_isolation, table.tables("isolate", MOST_PARTS)))
    budget = table.table("budget")
    budget.only(*_BUDGET_KEYS)
    return TypeIntent(
        record=record,
        reason=reason,
        link=link,
        configuration=conditions,
        groups=groups,
        isolations=isolations,
        budget=SizeBudget(*map(budget.count, _BUDGET_KEYS)),
        hot=table.members("hot"),
        read_mostly=table.members("read-mostly"),
        write_hot=table.members("write-hot"),
        place=table.place,
    )


def _groups(table: _IntentTable) -> Iterator[MemberGroup]:
    names: set[str] = set()
    for one in table.tables("group", MOST_PARTS):
        one.only("name", "members", "lines", "bytes")
        name = one.word("name", _PATTERN, "one word", "it tells groups apart")
        group = MemberGroup(name, one.some_members(), one.count("lines"), one.count("bytes"))
        if name in names:
            one.refuse(f"the type has a group `{name}` already", "name")
        names.add(name)
        yield group


def _isolation(table: _IntentTable) -> Isolation:
    table.only("members", "from", "bytes", "phases")
    members, apart_from = table.some_members(), table.members("from")
    for one in set(members) & set(apart_from):
        table.refuse(f"`{one}` cannot be isolated from itself", "from")
    line = table.count("bytes") or CACHE_LINE_BYTES
    if line not in _LINES:
        table.refuse(f"`bytes` is the size of a cache line or a pair of them: {', '.join(map(str, _LINES))}", "bytes")
    return Isolation(members, apart_from, line, table.share("phases"))


def _suppression(table: _IntentTable) -> Suppression:
    table.only("rule", "type", "member", "reason", "expires")
    return Suppression(
        rule=table.word("rule", _RULE, "a rule or a pattern", "it says what is accepted"),
        record=_bare(table.word("type", _TYPE, "a type's name or a pattern", "it says where")),
        reason=table.text("reason", "it says why that may be"),
        member=table.word("member", _PATTERN, "a member or a pattern") or "*",
        expires=table.day("expires"),
        place=table.place,
    )


def _bare(name: str) -> str:
    """The name without ``struct``."""
    return next((name.removeprefix(word) for word in _KEYWORDS if name.startswith(word)), name)


def _shortened(value: str) -> str:
    """What the user wrote, as a message quotes it."""
    return repr(value if len(value) <= MOST_QUOTED else f"{value[:MOST_QUOTED]}…")


@dataclass(frozen=True, slots=True)
class _IntentTable:
    """``values`` of the table at ``path`` of a ``file``, which places call ``name``; each question names a key.

    All raise ``IntentError``.
    """

    values: Mapping[str, object]
    path: KeyPath
    file: TomlText
    name: str

    @property
    def place(self) -> str:
        """Where it begins: ``linesmith.toml:12``."""
        return f"{self.name}:{self.file.line(self.path)}"

    def refuse(self, sentence: str, key: str = "") -> NoReturn:
        """Raise ``IntentError`` with the line of ``key``, or of the table."""
        line = self.file.line((*self.path, key) if key else self.path)
        raise IntentError(f"{self.file.shown}:{line}: {sentence}; docs/intent.md lists the valid keys")

    def only(self, *keys: str) -> None:
        """Refuse keys that are none of ``keys``."""
        for key in self.values:
            if key not in keys:
                from difflib import get_close_matches  # only a mistake needs it

                near = get_close_matches(key, keys, 1)
                meant = f" (did you mean `{near[0]}`?)" if near else ""
                self.refuse(f"unknown key {_shortened(key)}{meant}", key)

    def text(self, key: str, required: str = "") -> str:
        """One line of text, empty where there is none; ``required`` says what it is for where it must be there."""
        value = self.values.get(key, "")
        if not isinstance(value, str) or not value.isprintable():
            self.refuse(f"`{key}` is one line of text", key)
        if required and not value.strip():
            self.refuse(f"`{key}` is missing: {required}", key)
        return value.strip()

    def word(self, key: str, form: re.Pattern[str], what: str, required: str = "") -> str:
        """A text that ``form`` matches wholly; ``what`` it is goes into the message."""
        value = self.text(key, required)
        if value and not form.fullmatch(value):
            self.refuse(f"`{key}` must be {what}, not {_shortened(value)}", key)
        return value

    def texts(self, key: str, what: str, form: re.Pattern[str]) -> tuple[str, ...]:
        """A list of different texts that ``form`` matches wholly; ``what`` they are goes into the message."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            self.refuse(f"`{key}` is a list of {what}", key)
        if len(values) > MOST_NAMES:
            self.refuse(f"`{key}` has {len(values)} entries, more than the {MOST_NAMES} that are allowed", key)
        for value in values:
            if not form.fullmatch(value):
                self.refuse(f"`{key}` must be a list of {what}, not {_shortened(value)}", key)
        return tuple(dict.fromkeys(values))

    def members(self, key: str) -> tuple[str, ...]:
        """A list of members' paths."""
        return self.texts(key, "members such as `a` or `a.b`", _MEMBER)

    def some_members(self) -> tuple[str, ...]:
        """Its ``members``, one at least."""
        members = self.members("members")
        if not members:
            self.refuse("`members` names none", "members")
        return members

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
        if value is not None and (not isinstance(value, date) or isinstance(value, datetime)):
            self.refuse(f"`{key}` is a date without quotes, as 2027-01-31", key)
        return value

    def table(self, key: str) -> _IntentTable:
        """The table ``[… .key]``, an empty one where it is not given."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.refuse(f"`{key}` is a table, `[{self._header(key)}]`", key)
        return _IntentTable(value, (*self.path, key), self.file, self.name)

    def tables(self, key: str, most: int) -> Iterator[_IntentTable]:
        """Each table ``[[… .key]]`` in turn, ``most`` of them at most."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.refuse(f"each `{key}` is a table of its own, `[[{self._header(key)}]]`", key)
        if len(values) > most:
            self.refuse(f"there are {len(values)} tables `[[{self._header(key)}]]`, more than the {most} allowed", key)
        for number, value in enumerate(values):
            yield _IntentTable(value, (*self.path, key, number), self.file, self.name)

    def _header(self, key: str) -> str:
        return ".".join((*(part for part in self.path if isinstance(part, str)), key))
