# SPDX-License-Identifier: GPL-2.0-or-later
"""Records before and now as a rule of the lint sees them, for tests."""

from __future__ import annotations

from hand_made import table

from linesmith.analyzer.lint.rules.catalogue import LintedBuild, LintedRecord, RecordVersion, rule
from linesmith.analyzer.model import Layout, SlabMachine, TypeIntent, Violation
from linesmith.analyzer.slab.allocation import Kernel

KERNEL = Kernel(SlabMachine(cpus=64, release=(6, 12)))


def side(*layouts: Layout) -> LintedBuild:
    """A build with these records, of a Linux 6.12 on 64 CPUs."""
    return LintedBuild(table(*layouts), KERNEL)


def alone(*layouts: Layout, tuned: str = "", intents: tuple[TypeIntent, ...] = ()) -> LintedRecord:
    """The first of the records in one build."""
    return LintedRecord(RecordVersion(layouts[0], side(*layouts)), None, tuned, intents)


def before_and_now(
    old: tuple[Layout, ...], new: tuple[Layout, ...], tuned: str = "", intents: tuple[TypeIntent, ...] = ()
) -> LintedRecord:
    """The first record of each build, the others being what it holds or what holds it."""
    now, before = (RecordVersion(some[0], side(*some)) for some in (new, old))
    return LintedRecord(now, before, tuned, intents, base=before.build)


def broken(name: str, subject: LintedRecord) -> list[Violation]:
    """What the rule called so says of the record, if it is applied to it at all."""
    one = rule(name)
    applied = (subject.tuned or one.untuned) and not (one.pair and subject.before is None)
    return list(one.check(subject)) if applied else []
