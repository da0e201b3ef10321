# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lint of layouts says, and what it is given: intents, groups, isolation and budgets, each with its reason.

A lint finds violations of rules; some are known and accepted. Intents are what people want of a layout, as
``linesmith.toml`` says it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from linesmith.analyzer.model.layout import CACHE_LINE_BYTES


class Severity(StrEnum):
    """How much a violation matters; ``--fail-on`` compares by ``rank``."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for a note, 1 for a warning, 2 for an error."""
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a violation before and now; ``None``: there is none. ``unit`` is a plural (``bytes``)."""

    name: str
    old: float | None
    new: float | None
    unit: str = "bytes"


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule broken by one record, or by one member of it.

    ``type`` is the record as C names it (``struct inode``), ``member`` a path in it or empty. ``message`` is a clause
    without the type's name; ``advice`` is what to do. ``file`` is relative to the tree where that is known, as the
    debug information has it otherwise. ``subject`` tells two violations of one rule on one member apart by what they
    are about (a group's name, the other member), never by figures. ``was`` is what the
    base calls the member, where that is another name.
    """

    rule: str
    severity: Severity
    type: str
    message: str
    member: str = ""
    subject: str = ""
    advice: str = ""
    file: str | None = None
    line: int | None = None
    figures: tuple[Figure, ...] = ()
    configuration: str = ""
    was: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays the same while figures and lines change: the identity in baselines and suppressions."""
        return self.rule, self.type, self.member, self.subject

    @property
    def keys(self) -> tuple[tuple[str, str, str, str], ...]:
        """The same, and what it was while the member had the name that it has in the base."""
        former = (self.rule, self.type, self.was or self.member, self.subject)
        return (self.key,) if former == self.key else (self.key, former)

    @property
    def order(self) -> tuple[str, int, tuple[str, str, str, str], str]:
        """What reports are sorted by: the place, then what it is about."""
        return self.file or "", self.line or 0, self.key, self.message


@dataclass(frozen=True, slots=True)
class Accepted:
    """A violation that does not count: ``reason`` says why, ``by`` where that is stated (``linesmith.toml:12``)."""

    violation: Violation
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class LintReport:
    """Everything one lint found, in a fixed order: by file, line, type, rule, member.

    ``base`` is empty when one build was looked at alone. ``compared`` counts the records of the new build, ``changed``
    those whose layout differs, ``watched`` those that some rule was applied to. ``remarks`` are whole sentences on what
    could not be judged. ``unjudged`` are files of a change that the deadline left out.
    """

    head: str
    base: str = ""
    violations: tuple[Violation, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    compared: int = 0
    changed: int = 0
    watched: int = 0
    rules: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()


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
        """Everything stated of the record of that name (``inode``, without ``struct``)."""
        return tuple(one for one in self.types if one.record == record)


NO_INTENT = Intent()
