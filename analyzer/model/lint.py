# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lint of layouts says: violations of rules, those that are known and accepted, and what was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    """A violation that does not count: ``reason`` says why, ``by`` where that is said (``linesmith.toml:12``)."""

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
