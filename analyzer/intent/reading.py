# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads ``linesmith.toml``: nothing in it can name a command or a file, and what is not known is an error.

The tables are types of msgspec, which checks each value; an error names its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from linesmith.analyzer.base.errors import IntentError
from linesmith.analyzer.base.files import read_regular
from linesmith.analyzer.base.toml import KeyPath, TomlError, TomlText, decoded, toml_of
from linesmith.analyzer.model import (
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

_KEYWORDS = ("struct ", "union ", "class ")
_PLACE = re.compile(r"(.*) - at `\$\.?([^`]*)`\Z", re.DOTALL)
_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")

# What a text may be, by its pattern.
_ANYTHING = r"\S"
_WORD = r"\A[^\s\x00-\x1f\x7f]{1,256}\Z"
_RECORD = r"\A((struct|union|class) )?[^\s\x00-\x1f\x7f]{1,256}\Z"
_RULE = r"\A[a-z0-9*?\[\]-]+\Z"
_LINK = r"\A(https?://[^\s<>\"'`]+|[0-9a-f]{7,64}( \(.+\))?)\Z"
_SYMBOL = r"\A!?CONFIG_[A-Za-z0-9_]+\Z"
_MEMBER = r"\A[A-Za-z_][A-Za-z0-9_]*(\[[0-9]+\])*(\.[A-Za-z_][A-Za-z0-9_]*(\[[0-9]+\])*)*\Z"
_FORMS = {
    _ANYTHING: "a sentence that says why",
    _WORD: "one word",
    _RECORD: "the name of a struct or union, or a pattern",
    _RULE: "a rule, a pattern or `all`",
    _LINK: "a commit or an http(s) address",
    _SYMBOL: "a symbol such as `CONFIG_SMP` or `!CONFIG_SMP`",
    _MEMBER: "a member such as `a` or `a.b`",
}
_Reason = Annotated[str, Meta(pattern=_ANYTHING)]
_Word = Annotated[str, Meta(pattern=_WORD)]
_Record = Annotated[str, Meta(pattern=_RECORD)]
_Rule = Annotated[str, Meta(pattern=_RULE)]
_Link = Annotated[str, Meta(pattern=_LINK)]
_Symbol = Annotated[str, Meta(pattern=_SYMBOL)]
_Member = Annotated[str, Meta(pattern=_MEMBER)]
_Members = Annotated[tuple[_Member, ...], Meta(max_length=MOST_NAMES)]
_SomeMembers = Annotated[tuple[_Member, ...], Meta(min_length=1, max_length=MOST_NAMES)]
_Rules = Annotated[tuple[_Rule, ...], Meta(max_length=MOST_NAMES)]
_Count = Annotated[int, Meta(ge=1, lt=1 << 32)] | None


class _TomlTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A table of the file; names of keys have hyphens for underlines."""


class _GroupTable(_TomlTable, frozen=True):
    name: _Word
    members: _SomeMembers
    lines: _Count = None
    bytes: _Count = None


class _IsolateTable(_TomlTable, frozen=True, rename={"apart_from": "from"}):
    members: _SomeMembers
    apart_from: _Members = ()
    bytes: Literal[32, 64, 128, 256] = 64  # lines of what CPUs have, and pairs of them
    phases: Annotated[float, Meta(ge=0, le=1)] = 0.0


class _BudgetTable(_TomlTable, frozen=True):
    bytes: _Count = None
    lines: _Count = None
    objects_per_slab: _Count = None


class _TypeTable(_TomlTable, frozen=True):
    name: _Record
    reason: _Reason
    link: _Link | None = None
    configuration: Annotated[tuple[_Symbol, ...], Meta(max_length=MOST_NAMES)] = ()
    hot: _Members = ()
    read_mostly: _Members = ()
    write_hot: _Members = ()
    budget: _BudgetTable = _BudgetTable()
    group: Annotated[tuple[_GroupTable, ...], Meta(max_length=MOST_PARTS)] = ()
    isolate: Annotated[tuple[_IsolateTable, ...], Meta(max_length=MOST_PARTS)] = ()


class _SuppressTable(_TomlTable, frozen=True):
    rule: _Rule
    type: _Record
    reason: _Reason
    member: _Word = "*"
    expires: date | None = None


class _LintTable(_TomlTable, frozen=True):
    select: _Rules = ()
    ignore: _Rules = ()
    types: Annotated[tuple[_Record, ...], Meta(max_length=MOST_NAMES)] = ()


class _IntentFile(_TomlTable, frozen=True):
    """``defaults`` are for the command line, which reads them itself."""

    lint: _LintTable = _LintTable()
    type: Annotated[tuple[_TypeTable, ...], Meta(max_length=MOST_ENTRIES)] = ()
    suppress: Annotated[tuple[_SuppressTable, ...], Meta(max_length=MOST_ENTRIES)] = ()
    defaults: dict[str, Any] = {}


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
        file = msgspec.convert(read.values, _IntentFile)
    except TomlError as error:
        raise IntentError(str(error)) from None
    except msgspec.ValidationError as error:
        raise _not_valid(str(error), read) from None
    for path in _unprintable({key: value for key, value in read.values.items() if key != "defaults"}, ()):
        raise _refusal(read, path, "a text here is not one line of characters that can be seen")
    for path, sentence in _contradictions(file):
        raise _refusal(read, path, sentence)
    lint = LintChoice(_once(file.lint.select), _once(file.lint.ignore), _once(map(_bare, file.lint.types)))
    types = (_type(one, f"{name}:{read.line(('type', at))}") for at, one in enumerate(file.type))
    suppressions = (
        Suppression(one.rule, _bare(one.type), one.reason.strip(), one.member, one.expires, f"{name}:{read.line(path)}")
        for path, one in ((("suppress", at), one) for at, one in enumerate(file.suppress))
    )
    return Intent(shown, tuple(types), tuple(suppressions), lint)


def _type(entry: _TypeTable, place: str) -> TypeIntent:
    return TypeIntent(
        record=_bare(entry.name),
        reason=entry.reason.strip(),
        link=entry.link or "",
        configuration=_once(entry.configuration),
        groups=tuple(MemberGroup(one.name, _once(one.members), one.lines, one.bytes) for one in entry.group),
        isolations=tuple(
            Isolation(_once(one.members), _once(one.apart_from), one.bytes, one.phases) for one in entry.isolate
        ),
        budget=SizeBudget(entry.budget.bytes, entry.budget.lines, entry.budget.objects_per_slab),
        hot=_once(entry.hot),
        read_mostly=_once(entry.read_mostly),
        write_hot=_once(entry.write_hot),
        place=place,
    )


def _contradictions(file: _IntentFile) -> Iterator[tuple[KeyPath, str]]:
    """What each value alone does not show, with the path of the key."""
    for at, entry in enumerate(file.type):
        path: KeyPath = ("type", at)
        for symbol in entry.configuration:
            if f"!{symbol}" in entry.configuration:
                yield (*path, "configuration"), f"{symbol} cannot be set and not set, so this would never apply"
        names = [group.name for group in entry.group]
        for number, name in enumerate(names):
            if name in names[:number]:
                yield (*path, "group", number, "name"), f"the type has a group `{name}` already"
        for number, one in enumerate(entry.isolate):
            for member in {*one.members} & {*one.apart_from}:
                yield (*path, "isolate", number, "from"), f"`{member}` cannot be isolated from itself"


def _unprintable(value: object, path: KeyPath) -> Iterator[KeyPath]:
    """The paths of texts with characters that steer a terminal or break a line."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _unprintable(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _unprintable(inner, (*path, at))
    elif isinstance(value, str) and not value.isprintable():
        yield path


def _not_valid(said: str, read: TomlText) -> IntentError:
    """What msgspec says of a value, with the line of its key."""
    match = _PLACE.fullmatch(said)
    said, place = (match[1], match[2]) if match else (said, "")
    path: KeyPath = tuple(int(number) if number else key for number, key in _PART.findall(place))
    key = next((f"`{part}`" for part in reversed(path) if isinstance(part, str)), "the file")
    if path and isinstance(path[-1], int):
        key = f"an entry of {key}"
    field = said.split("`")[1] if "`" in said else ""
    said = said.replace("`array`", "a list").replace("`object`", "a table")
    if "unknown field" in said:
        return _refusal(read, (*path, field), f"unknown key {field[:60]!r}")
    if "missing required field" in said:
        return _refusal(read, path, f"`{field}` is missing")
    for pattern, form in _FORMS.items():
        if said.endswith(f"matching regex {pattern!r}"):
            return _refusal(read, path, f"{key} must be {form}")
    return _refusal(read, path, f"{key}: {said[:1].lower()}{said[1:]}")


def _refusal(read: TomlText, path: KeyPath, sentence: str) -> IntentError:
    return IntentError(f"{read.shown}:{read.line(path)}: {sentence}; docs/intent.md lists the valid keys and values")


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _bare(name: str) -> str:
    """The name without ``struct``."""
    return next((name.removeprefix(word) for word in _KEYWORDS if name.startswith(word)), name)
