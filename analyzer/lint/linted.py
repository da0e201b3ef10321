# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lint looks at, and by which rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint.pairs import Pair
from linesmith.analyzer.model import NO_INTENT, GroupDoc, Intent, Layout, SourceFact, TypeIntent
from linesmith.analyzer.rules import Rule, Side


@dataclass(frozen=True, slots=True)
class Linted:
    """What is looked at: the builds' names, their sides, and pairs of records whose layouts differ or are asked for.

    ``compared`` and ``changed`` count records, as in ``LintReport``. ``facts`` and ``docs`` are what the source and its
    documentation tell, by the record's name. ``remarks`` are whole sentences on what could not be judged, ``unjudged``
    the files of a change that the deadline left out.
    """

    head: str
    new: Side
    pairs: tuple[Pair, ...]
    base: str = ""
    old: Side | None = None
    compared: int = 0
    changed: int = 0
    facts: Mapping[str, tuple[SourceFact, ...]] = field(default_factory=dict)
    docs: Mapping[str, GroupDoc] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules that are on, the intents, and how to tell whether a record is tuned.

    ``applies`` tells whether an intent holds in the configuration of the head build.
    """

    rules: tuple[Rule, ...]
    tuned: Callable[[Layout, Layouts], str]
    intent: Intent = NO_INTENT
    applies: Callable[[TypeIntent], bool] = lambda _: True

    def intents(self, record: str) -> tuple[TypeIntent, ...]:
        """What is wanted of the record called so in this configuration."""
        return tuple(one for one in self.intent.of(record) if self.applies(one))
