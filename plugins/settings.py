# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings that a plan gives to a plugin, read as the fields of a class of that plugin."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.base.text import did_you_mean
from linesmith.plugins.api import Settings

T = TypeVar("T")


def read_settings(given: Settings, kind: type[T], owner: str, refusal: type[LinesmithError]) -> T:
    """The settings as a ``kind``, a struct or dataclass; those called ``name.KEY`` are its mapping ``name``.

    Raises ``refusal`` with a sentence about the ``owner`` for one that it has not, or that is of another kind.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        table, dot, key = name.partition(".")
        values[table] = {**values.get(table, {}), key: value} if dot else value
    hints = get_type_hints(kind)
    for name in values:
        if name not in hints:
            known = ", ".join(sorted(hints)) or "none"
            raise refusal(f"{owner} has no setting {name!r}{nearest(name, hints)}; its settings are {known}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$.")
        name = place.rstrip("`").partition("[")[0]
        choices = [one for one in get_args(hints.get(name)) if isinstance(one, str)]
        if choices and said.startswith("Invalid enum"):
            said = f"expected one of {', '.join(choices)}{nearest(str(values[name]), choices)}"
        said = said.replace("Object missing required field", "it needs the setting").replace("Expected", "expected")
        place = f" cannot take {name} = {values[name]!r:.80}" if name else ""
        raise refusal(f"{owner}{place}: {said}") from error


def nearest(word: str, words: Collection[str]) -> str:
    """A question about the word that may have been meant; empty when none is near."""
    near = did_you_mean(word, words)
    return f" ({near})" if near else ""
