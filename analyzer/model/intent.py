# SPDX-License-Identifier: GPL-2.0-or-later
"""What people want of a layout, as ``linesmith.toml`` says it: groups, isolation, budgets, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from linesmith.analyzer.model.lines import CACHE_LINE_BYTES


@dataclass(frozen=True, slots=True)
class MemberGroup:
    """Members that belong together: they lie behind one another and on at most ``lines`` lines (``None``: any number).

    ``members`` are paths. ``bytes`` is a soft limit on the span from the first to the end of the last.
    """

    name: str
    members: tuple[str, ...]
    lines: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Isolation:
    """``members`` may not be on a block of ``bytes`` (a line, or a pair of lines) with any of ``apart_from``.

    No ``apart_from`` means: with any other member. ``phases`` is the share of object starts, 0 … 1, in which they may
    meet all the same; 0 for never.
    """

    members: tuple[str, ...]
    apart_from: tuple[str, ...] = ()
    bytes: int = CACHE_LINE_BYTES
    phases: float = 0.0


@dataclass(frozen=True, slots=True)
class SizeBudget:
    """How large a record may become: bytes, lines, and how many objects must still fit into a slab; soft limits."""

    bytes: int | None = None
    lines: int | None = None
    objects_per_slab: int | None = None


@dataclass(frozen=True, slots=True)
class TypeIntent:
    """What is wanted of one record under one configuration.

    ``configuration`` are symbols that must be set (``CONFIG_SMP``) or must not (``!CONFIG_RT``) for it to apply; empty:
    always. ``reason`` and ``link`` (a commit or URL) tell why. ``place`` is ``linesmith.toml:12``. ``read_mostly`` and
    ``write_hot`` are members that a profile or somebody who knows saw so; ``hot`` are all that fast paths touch.
    """

    record: str
    reason: str
    link: str = ""
    configuration: tuple[str, ...] = ()
    groups: tuple[MemberGroup, ...] = ()
    isolations: tuple[Isolation, ...] = ()
    budget: SizeBudget = SizeBudget()
    hot: tuple[str, ...] = ()
    read_mostly: tuple[str, ...] = ()
    write_hot: tuple[str, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Suppression:
    """Violations that are accepted for ``reason`` until ``expires``; rule, record and member may be patterns."""

    rule: str
    record: str
    reason: str
    member: str = "*"
    expires: date | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class LintChoice:
    """Which rules are on: names or sets (``all``), added to or taken from the default ones; ``types`` are patterns."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intent:
    """All of one ``linesmith.toml``; ``path`` as the user knows it, empty where there is no file."""

    path: str = ""
    types: tuple[TypeIntent, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    lint: LintChoice = LintChoice()

    def of(self, record: str) -> tuple[TypeIntent, ...]:
        """Everything said of the record called so (``inode``, without ``struct``)."""
        return tuple(one for one in self.types if one.record == record)


NO_INTENT = Intent()
