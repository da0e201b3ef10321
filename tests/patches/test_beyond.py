# SPDX-License-Identifier: GPL-2.0-or-later
"""What a message says beyond the configuration at hand, and when a change counts as worse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linesmith.analyzer.model import (
    CompiledUser,
    ConfigurationCheck,
    Dependency,
    DependencyKind,
    FactKind,
    Residual,
    SourceFact,
    SourceScan,
)
from linesmith.patches.beyond import NOTHING_BEYOND, beyond, is_worse

SCAN = SourceScan("cache", (), (), (), units=12)
ASSERTED = Dependency(DependencyKind.ASSERTION, "cache", ("lock",), "src/cache.c:7", "static_assert(...)", 64)
KEPT = SourceFact(FactKind.OFFSET, ("lock",), "its offset is asserted", "src/cache.c:7")
TOLD = replace(ASSERTED, kind=DependencyKind.OFFSETOF, place="src/cache.c:9", binds=False)


def test_nothing_is_said_of_what_was_not_looked_at() -> None:
    assert NOTHING_BEYOND.other_builds("other builds") == "other builds"
    assert NOTHING_BEYOND.other_code().startswith("code that relies on the order of members (initialisers")


def test_a_scan_without_a_find_says_how_much_was_looked_at() -> None:
    told = beyond((), SCAN, "struct cache", ())
    assert " ".join(told.code.split()) == (
        "Nothing in the 12 units that use struct cache was found to rely on the order of its members."
    )
    assert told.other_code() == "code that the build at hand leaves out"


def test_a_build_without_units_of_the_record_is_no_evidence() -> None:
    told = beyond((), replace(SCAN, units=0), "struct cache", ())
    assert " ".join(told.code.split()) == (
        "The build at hand compiled no unit that uses struct cache: for code that relies on the order of its members "
        "only the text of the tree was searched, without a find."
    )


def test_places_that_bind_are_listed_and_those_that_follow_are_not() -> None:
    scan = replace(SCAN, units=1, dependencies=(ASSERTED, TOLD), failed=(("src/odd.c", "src/odd.c:1: no"),))
    assert beyond((), scan, "struct cache", (KEPT,)).code == (
        "In the 1 unit that uses struct cache (1 of them with errors), 1 place\n"
        "relies on the order of its members, and still holds:\n\n"
        "  src/cache.c:7: static assertion of lock"
    )


def test_a_place_that_no_fact_tells_of_is_not_said_to_hold() -> None:
    other = replace(ASSERTED, members=("debug",), place="src/cache.c:8")
    scan = replace(SCAN, dependencies=(ASSERTED, other))
    assert " ".join(beyond((), scan, "struct cache", (KEPT,)).code.split()) == (
        "In the 12 units that use struct cache, 1 place relies on the order of its members, and still holds: "
        "src/cache.c:7: static assertion of lock "
        "In the 12 units that use struct cache, 1 place relies on the order of members that the build at hand does "
        "not have, and was not checked: src/cache.c:8: static assertion of debug"
    )


@pytest.mark.parametrize(
    ("check", "worse"),
    [
        (ConfigurationCheck("one"), False),
        (ConfigurationCheck("one", failed="no compiler"), False),
        (ConfigurationCheck("one", residuals=(Residual("root", "lock", 64, 0.5, 0.25),)), False),
        (ConfigurationCheck("one", residuals=(Residual("root", "lock", 64, 0.25, 0.5),)), True),
        (ConfigurationCheck("one", residuals=(Residual("root", "lock", 128, 0.25, 0.5),)), False),
        (ConfigurationCheck("one", users=(CompiledUser("src/a.o", ("a warning",)),)), False),
        (ConfigurationCheck("one", users=(CompiledUser("src/a.o", failed="a.c:1: error"),)), True),
    ],
)
def test_worse_is_what_compiles_no_more_or_meets_on_a_line_more_often(check: ConfigurationCheck, worse: bool) -> None:
    assert is_worse((ConfigurationCheck("other"), check)) is worse
