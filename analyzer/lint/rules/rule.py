# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lint rule is, and the record it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.leaves import Named
from linesmith.analyzer.lint.starts import KnownStarts
from linesmith.analyzer.model import (
    AccessCounts,
    Figure,
    GroupDoc,
    Layout,
    Severity,
    SourceFact,
    TypeAccesses,
    TypeIntent,
    Violation,
)
from linesmith.analyzer.slab.allocation import Kernel, Served


def no_accesses(layout: Layout) -> TypeAccesses:
    """Nothing is known of who touches the record."""
    return TypeAccesses(layout.id, AccessCounts(), 0, ())


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two builds, or the only one: all its layouts, the kernel's slabs, and who touches a layout of it.

    ``accesses`` reads the access map when first called; where there is none, all its counts are 0. ``slabs`` tells
    whether it is a kernel or a module at all, so that objects come from slabs. ``containment`` is of the records that
    slab caches are known to serve and what these hold, ``holders`` of all records, ``starts`` where objects begin in
    their lines; all are computed when first asked.
    """

    layouts: Layouts
    kernel: Kernel = field(default_factory=Kernel)
    accesses: Callable[[Layout], TypeAccesses] = no_accesses
    slabs: bool = True
    containment: Containment = field(init=False, repr=False, compare=False)
    holders: Containment = field(init=False, repr=False, compare=False)
    starts: KnownStarts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        object.__setattr__(self, "containment", Containment(Served(self.layouts, self.kernel)))
        object.__setattr__(self, "holders", Containment(self.layouts))
        object.__setattr__(self, "starts", KnownStarts(self.containment, self.kernel if self.slabs else None))

    def naming(self, layouts: Layouts) -> Side:
        """The same build, some of whose members are called otherwise: what holds what is not looked for again."""
        named = replace(self, layouts=layouts)
        object.__setattr__(named, "holders", self.holders)
        return named


@dataclass(frozen=True, slots=True)
class Subject:
    """One record under lint: ``new`` as it is, ``old`` as it was (``None``: a new record, or no base was given).

    ``tuned`` says why somebody cares for its layout (``has intents in linesmith.toml:4``), empty where nothing says
    so. ``intents`` are those that hold in the configuration of the build. ``facts`` are what its source tells, ``doc``
    what documentation says of it; empty without a tree.
    """

    new: Layout
    head: Side
    old: Layout | None = None
    base: Side | None = None
    tuned: str = ""
    intents: tuple[TypeIntent, ...] = ()
    facts: tuple[SourceFact, ...] = ()
    doc: GroupDoc | None = None


def declared_on(one: Named, layout: Layout) -> int | None:
    """The line of ``layout``'s file that brings a member in: of what lies in a held record that of its holder.

    ``None`` where that is in a part without a name.
    """
    first, dot, _ = one.path.partition(".")
    if not dot:
        return one.member.line
    return next((member.line for member in layout.members if member.name == first.partition("[")[0]), None)


Check = Callable[[Subject], Iterable[Violation]]


def nothing(subject: Subject) -> Iterable[Violation]:  # noqa: ARG001 - a check's signature
    """The check of a rule that is not about single records."""
    return ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the lint: ``name`` is also that of its page, ``check`` yields what breaks it.

    ``untuned`` tells that it is applied to records that nobody tuned, too; ``default`` that it is on unless ignored.
    ``pair`` tells that it compares two builds and has nothing to say of one alone.
    """

    name: str
    summary: str
    severity: Severity
    check: Check
    pair: bool = True
    untuned: bool = False
    default: bool = True

    def broken(
        self,
        layout: Layout,
        message: str,
        *,
        member: str = "",
        subject: str = "",
        advice: str = "",
        figures: tuple[Figure, ...] = (),
        severity: Severity | None = None,
        line: int | None = None,
    ) -> Violation:
        """A violation of this rule by ``layout``, at its declaration or on ``line`` of the same file."""
        return Violation(
            rule=self.name,
            severity=severity or self.severity,
            type=layout.title,
            message=message,
            member=member,
            subject=subject,
            advice=advice,
            file=layout.file,
            line=line or layout.line,
            figures=figures,
        )
