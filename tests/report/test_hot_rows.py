# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of ``linesmith hot`` whose words or widths were mistaken before."""

from __future__ import annotations

from dataclasses import replace

from linesmith.analyzer.findings import findings
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.model import Access, ElfIdentity, LineMember, ObjectArea, ObjectKind, Profile, SharedLine
from linesmith.analyzer.report.chosen import Chosen
from linesmith.analyzer.report.hot import render_text

ELF = ElfIdentity("program", None, "x86_64", "executable", True, 8, True, False)
LOCK = ObjectArea(ObjectKind.GLOBAL, "lock", 0x2000, 64, 64, 1, ("spinlock",))
SHORT = LineMember("lock", 0, 0, 4, 5, 0, ())
LONG = LineMember("statistics.per_node.requests_that_had_to_wait", 8, 8, 8, 5, 0, ())


def line(rank: int, address: int) -> SharedLine:
    return SharedLine(rank, address, (Access(0, "take", hitm_local=5),), hitm_local=5)


def text(profile: Profile, *members: LineMember) -> list[str]:
    found = findings(profile, LayoutTable([]), ())
    return render_text([replace(one, members=members) for one in found], ELF, Chosen(profile, 1, 1)).splitlines()


def test_figures_stay_below_their_titles_however_long_the_name_of_a_member() -> None:
    shown = text(Profile("test", "", "hitm", (line(0, 0x1000),)), SHORT, LONG)
    at = next(number for number, row in enumerate(shown) if row.startswith("  offset  member "))
    assert shown[at : at + 3] == [
        "  offset  member                                            reads   writes   share  functions",
        "     0x0  lock                                                  5        -    0.0%",
        "     0x8  statistics.per_node.requests_that_had_to_wait         5        -    0.0%",
    ]


def test_memory_that_nobody_named_is_not_said_to_be_of_no_known_type() -> None:
    shown = text(Profile("test", "", "hitm", (line(0, 0x1000), line(1, 0x2000)), areas=(LOCK,)))
    at = shown.index("by object, all lines that count:")
    assert shown[at + 1 : at + 3] == [
        "   50.0%         5 on     1 line   in no slab cache or variable that is known",
        "   50.0%         5 on     1 line   global lock (spinlock)",
    ]
