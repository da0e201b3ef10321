# SPDX-License-Identifier: GPL-2.0-or-later
"""One table of an intent file, read strictly: each value is of its type, or an error names its line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import NoReturn

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent.statements import Path

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
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
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
    path: Path
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
