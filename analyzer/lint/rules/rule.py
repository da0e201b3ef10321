# SPDX-License-Identifier: GPL-2.0-or-later
"""What a lint rule is, and what it looks at: a record as it is in one build and as it was in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import Containment, containment_of
from linesmith.analyzer.layouts.leaves import Named, nameable, named
from linesmith.analyzer.lint.meetings import CachePhases, KnownStarts, MemberMeetings
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Figure,
    Isolation,
    Layout,
    MemberGroup,
    Severity,
    SourceFact,
    TypeIntent,
    Violation,
)
from linesmith.analyzer.slab.allocation import Kernel, Served


@dataclass(frozen=True, slots=True)
class LintedBuild:
    """One of the two builds, or the only one: all its layouts, and the kernel's slabs.

    ``slabs`` tells whether it is a kernel or a module at all, so that objects come from slabs. ``containment`` is of
    the records that slab caches are known to serve and what these hold, ``holders`` of all records, ``starts`` where
    objects begin in their lines; all are computed when first asked.
    """

    layouts: Layouts
    kernel: Kernel = field(default_factory=Kernel)
    slabs: bool = True
    containment: Containment = field(init=False, repr=False, compare=False)
    holders: Containment = field(init=False, repr=False, compare=False)
    starts: KnownStarts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Nothing is read yet."""
        object.__setattr__(self, "containment", Containment(Served(self.layouts, self.kernel)))
        object.__setattr__(self, "holders", containment_of(self.layouts))
        object.__setattr__(self, "starts", KnownStarts(self.containment, self.kernel if self.slabs else None))

    def with_names(self, layouts: Layouts) -> LintedBuild:
        """The same build, some of whose members are called otherwise: what holds what is not looked for again."""
        renamed = replace(self, layouts=layouts)
        object.__setattr__(renamed, "holders", self.holders)
        return renamed


@dataclass(frozen=True, slots=True)
class RecordVersion:
    """A record as one of the builds has it."""

    layout: Layout
    build: LintedBuild

    @property
    def layouts(self) -> Layouts:
        """All layouts of the build."""
        return self.build.layouts

    def member(self, path: str) -> Named | None:
        """The member that C calls by ``path``."""
        return named(self.layout, self.layouts, path)

    def members(self) -> dict[str, Named]:
        """Those that C can name and that have bytes, by path."""
        return {one.path: one for one in nameable(self.layout, self.layouts) if one.span.size}

    def members_called(self, paths: Iterable[str]) -> tuple[Named, ...]:
        """Those of ``paths`` that are members with bytes, by offset."""
        found = map(self.member, paths)
        return tuple(sorted((one for one in found if one and one.span.size), key=lambda one: (one.offset, one.path)))

    def starts(self, line_bytes: int = CACHE_LINE_BYTES) -> tuple[CachePhases, ...]:
        """Where objects begin in their lines, by the caches that hold them."""
        return self.build.starts.of(self.layout, line_bytes)


@dataclass(frozen=True, slots=True)
class LintedRecord:
    """One record as it is ``now``, and as it was ``before`` (``None``: a new record, or no base was given).

    ``tuned`` says why somebody cares for its layout (``has intents in linesmith.toml:4``), empty where nothing says
    so. ``intents`` are those that hold in the configuration of the build. ``facts`` are what its source tells;
    none without a tree. ``base`` is the other build, also where the record is new.
    """

    now: RecordVersion
    before: RecordVersion | None = None
    tuned: str = ""
    intents: tuple[TypeIntent, ...] = ()
    facts: tuple[SourceFact, ...] = ()
    base: LintedBuild | None = None

    @property
    def layout(self) -> Layout:
        """As it is now."""
        return self.now.layout

    @property
    def groups(self) -> tuple[MemberGroup, ...]:
        """The groups of members that its intents want."""
        return tuple(group for intent in self.intents for group in intent.groups)

    @property
    def isolations(self) -> tuple[Isolation, ...]:
        """What its intents want kept apart."""
        return tuple(one for intent in self.intents for one in intent.isolations)


def declared_on(one: Named, layout: Layout) -> int | None:
    """The line of ``layout``'s file that brings a member in: of what lies in a held record that of its holder.

    ``None`` where that is in a part without a name.
    """
    first, dot, _ = one.path.partition(".")
    if not dot:
        return one.member.line
    return next((member.line for member in layout.members if member.name == first.partition("[")[0]), None)


Check = Callable[[LintedRecord], Iterable[Violation]]


def nothing(record: LintedRecord) -> Iterable[Violation]:  # noqa: ARG001 - a check's signature
    """The check of a rule that is not about single records."""
    return ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the lint: ``name`` is also that of its page, ``check`` yields what breaks it.

    ``untuned`` tells that it is applied to records that nobody tuned, too.
    ``pair`` tells that it compares two builds and has nothing to say of one alone; ``of_intent`` that it holds one
    build against what an intent wants of it, as ``linesmith intent --check`` does.
    """

    name: str
    summary: str
    severity: Severity
    check: Check
    pair: bool = True
    untuned: bool = False
    of_intent: bool = False

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


def meeting_violation(
    rule: Rule, layout: Layout, found: MemberMeetings, message: str, advice: str, share: float | None = None
) -> Violation:
    """The violation by those who meet: a note where the base had it in as many of its objects (``share``)."""
    known = share is not None and share >= found.worst.share
    return rule.broken(
        layout,
        f"{message}, as before" if known else message,
        member=found.member.path,
        subject=found.key[1],
        advice=advice,
        figures=(Figure("objects", None if share is None else 100 * share, 100 * found.worst.share, "percent"),),
        severity=Severity.NOTE if known else rule.severity,
        line=declared_on(found.member, layout),
    )
