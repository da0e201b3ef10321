# SPDX-License-Identifier: GPL-2.0-or-later
"""In which configuration an intent holds, and which configuration a build has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.model import Intent, TypeIntent

_SET = re.compile(r"^(CONFIG_\w+)=(?!n$)", re.MULTILINE | re.ASCII)


def applies(configuration: frozenset[str] | None) -> Callable[[TypeIntent], bool]:
    """Whether an intent holds where these symbols are set.

    Where the configuration is not known (``None``), only an intent that holds in all of them does; ``undecided`` tells
    the others.
    """
    return lambda intent: all(_holds(one, configuration) for one in intent.configuration)


def undecided(intent: Intent, configuration: frozenset[str] | None) -> tuple[str, ...]:
    """A sentence on each type whose intents were left out because the configuration is not known."""
    if configuration is not None:
        return ()
    return tuple(
        f"{one.place}: what is wanted of {one.record} where {_named(one.configuration)} was not checked, because the "
        "configuration of the build is not known; name its .config"
        for one in intent.types
        if one.configuration
    )


def read_symbols(kconfig: Path) -> frozenset[str]:
    """The symbols that a file sets; raises ``IntentError`` where it is no ``.config``, which names them all."""
    text = kconfig.read_text("utf-8", "replace")
    if text.strip() and "CONFIG_" not in text:
        raise IntentError(f"{kconfig} is no .config: it names no CONFIG_ symbol; give that of the build")
    return symbols_in(text)


def symbols_in(text: str) -> frozenset[str]:
    """The symbols that a ``.config`` sets to anything but ``n``."""
    return frozenset(_SET.findall(text))


def _holds(condition: str, configuration: frozenset[str] | None) -> bool:
    if configuration is None:
        return False
    return (condition.removeprefix("!") in configuration) != condition.startswith("!")


def _named(conditions: Iterable[str]) -> str:
    said = (f"{one.removeprefix('!')} is {'not set' if one.startswith('!') else 'set'}" for one in conditions)
    return " and ".join(said)
