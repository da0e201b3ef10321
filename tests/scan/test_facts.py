# SPDX-License-Identifier: GPL-2.0-or-later
"""What each dependency means for proposals."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import (
    Dependency,
    DependencyKind,
    MemberSource,
    RecordSource,
    SourceScan,
    SourceSpan,
)
from linesmith.patches.scan.facts import facts_of

SPAN = SourceSpan("rec.h", 0, 9, 1)
MEMBERS = tuple(MemberSource(name, SPAN) for name in "abcde")


def facts(one: Dependency) -> list[tuple[str, tuple[str, ...], int | None]]:
    scan = SourceScan("rec", (RecordSource("rec", SPAN, MEMBERS),), (one,), (), 1)
    return [(fact.kind.value, fact.members, fact.bytes) for fact in facts_of([scan]).of("rec")]


def of(kind: DependencyKind, members: str, bytes_: int | None = None, *, binds: bool = True) -> Dependency:
    return Dependency(kind, "rec", tuple(members), "x.c:1", bytes=bytes_, binds=binds)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (of(DependencyKind.POSITIONAL, "abc"), ("positional", ("a", "b", "c"), None)),
        (of(DependencyKind.ASSERTION, "b", 8), ("offset", ("b",), None)),
        (of(DependencyKind.ASSERTION, "", 64), ("size", (), 64)),
        (of(DependencyKind.FIRST_MEMBER_CAST, "a"), ("first", ("a",), None)),
        (of(DependencyKind.CONTAINER_OF_FIRST, "a"), ("first", ("a",), None)),
        (of(DependencyKind.OFFSET_RANGE, "bcd"), ("range", ("b", "c", "d"), None)),
        (of(DependencyKind.PARTIAL_COPY, "ab"), ("wall", ("c",), None)),
        (of(DependencyKind.PARTIAL_COPY, "de"), ("wall", ("d",), None)),
        (of(DependencyKind.PARTIAL_COPY, "c"), ("wall", ("c",), None)),
        (of(DependencyKind.USER_ABI, ""), ("offset", tuple("abcde"), None)),
        (of(DependencyKind.RANDOMIZED, "", binds=False), ("randomized", (), None)),
    ],
)
def test_a_dependency_that_binds_is_a_fact(one: Dependency, expected: tuple[str, tuple[str, ...], int | None]) -> None:
    assert facts(one) == [expected]


@pytest.mark.parametrize("kind", [DependencyKind.OFFSETOF, DependencyKind.ASM_OFFSET, DependencyKind.BPF_CORE])
def test_what_the_compiler_works_out_anew_is_none(kind: DependencyKind) -> None:
    assert facts(of(kind, "b", binds=False)) == []


def test_assertions_about_a_cacheline_group_are_left_to_the_rules_of_groups() -> None:
    members = ("__cacheline_group_begin__rx", "b")
    assert facts(Dependency(DependencyKind.ASSERTION, "rec", members, "x.c:1")) == []
