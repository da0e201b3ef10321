# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a commit message: why, what is expected, what was looked at beyond, what was measured, whose it is."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import table
from proposals_by_hand import LINE, POOL, moved, replayed
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import (
    NOT_JUDGED,
    CompiledUser,
    ConfigurationCheck,
    Dependency,
    DependencyKind,
    FactKind,
    Finding,
    Refusal,
    RefusalCode,
    Residual,
    SourceFact,
    SourceScan,
)
from linesmith.patches.message.message import with_evidence, within_width
from linesmith.patches.message.paragraphs import expectation, further_checks, is_worse, reasons
from linesmith.tuner.propose.steps import step_tables

CASES = Path(__file__).with_name("cases")
DOCS = Path(__file__).resolve().parents[2] / "docs"
STEPS = step_tables(LINE, moved(), table(POOL))


# Why it helps


def test_who_waits_now_and_no_longer_then() -> None:
    assert (
        reasons(STEPS)
        == """\
Why: CPU A writes a member, CPU B waits for another one that lies on the
same line. What each access finds, before -> after (cycles are the
profile's where it has them):

  A: pool_take writes used: invalidates B -> hit
  B: pool_full reads limit: modified on A, 456 cycles -> hit"""
    )


def test_what_no_layout_changes_is_no_reason() -> None:
    (steps,) = STEPS
    assert reasons([replace(steps, after=steps.before)]) == ""


# What is expected

UNSEEN = " No store was sampled on the line, so how often its members are written is not known."


def expected(counted: str) -> str:
    """What is said of a candidate that takes 88 of 100 away."""
    share = "(-88.0%, 80 % interval -95.0% to -60.0%)"
    return f"Replayed: 88 of the 100 {counted} on all lines of struct pool go away {share}."


@pytest.mark.parametrize(
    ("line", "runs", "said"),
    [
        (replace(LINE, stores=80), 30, expected("contended loads")),
        (replace(LINE, stores=0), 30, expected("contended loads") + UNSEEN),
        (replace(LINE, stores=0, simulated="4 CPUs"), 30, expected("contended accesses")),
        (replace(LINE, stores=0, simulated="4 CPUs"), 1, expected("misses")),
    ],
)
def test_the_figures_stand_with_their_interval(line: Finding, runs: int, said: str) -> None:
    candidate = replace(moved(), judgement=replayed(12, runs=runs))
    text = expectation(candidate, line, "struct pool", exact=True)
    assert " ".join(text.split()) == said
    assert max(map(len, text.splitlines())) <= 75


def test_a_record_that_is_perhaps_another_is_not_promised_a_saving() -> None:
    doubted = replace(moved(), doubt="Whether struct pool lies on the line as told is in doubt.")
    assert expectation(doubted, LINE, "struct pool", exact=True).startswith("Replayed: perhaps 88 of the 100 contended")


def test_a_tree_of_another_configuration_gets_no_figures_of_its_own() -> None:
    told = expectation(moved(), LINE, "struct pool", exact=False)
    assert told.startswith("Replayed for the layout of the ELF file: 88 ")


def test_a_candidate_that_nobody_judged_expects_nothing() -> None:
    assert expectation(replace(moved(), judgement=NOT_JUDGED), LINE, "struct pool", exact=True) == ""


# What was looked at beyond the configuration at hand

ASSERTED = Dependency(DependencyKind.ASSERTION, "cache", ("lock",), "src/cache.c:7", "static_assert(...)", 64)
KEPT = SourceFact(FactKind.OFFSET, ("lock",), "its offset is asserted", "src/cache.c:7")
FREE = replace(ASSERTED, kind=DependencyKind.OFFSETOF, place="src/cache.c:9", binds=False)


OTHER = replace(ASSERTED, members=("debug",), place="src/cache.c:8")
ODD = (("src/odd.c", "src/odd.c:1: no"),)


SCANS = {
    "nothing was found": SourceScan("cache", (), (), (), units=12),
    "the build compiled no unit": SourceScan("cache", (), (), (), units=0),
    "a place holds": SourceScan("cache", (), (ASSERTED, FREE), (), units=1, failed=ODD),
    "a place is of another configuration": SourceScan("cache", (), (ASSERTED, OTHER), (), units=12),
}


@text_cases(CASES / "beyond.txt")
def test_what_was_found_to_rely_on_the_order(case: TextCase) -> None:
    told = further_checks((), SCANS[case.title], "struct cache", (KEPT,))
    assert told.code.splitlines() == list(case.lines)
    assert told.other_code() == "code that the build at hand leaves out"


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


# What was measured

BEGINNING = """\
session: separate root from guard in struct session_index

The changed file was compiled with gcc 12.2.0 and the tree's flags.

"""
UNMEASURED = f"""\
{BEGINNING}Not checked: other builds, and code that relies on the order of members
(initialisers by position, ranges from one member to another, casts). No
benchmark has been run.
"""


def test_what_was_measured_stands_before_what_was_not_checked() -> None:
    measured = "Lookups per second went up.\n\n  100 ± 1   +20.0 %   120 ± 2\n"
    assert with_evidence(UNMEASURED, measured) == (
        f"{BEGINNING}{measured}\n"
        "Not checked: other builds, and code that relies on the order of members\n"
        "(initialisers by position, ranges from one member to another, casts).\n"
    )


def test_trailers_of_a_message_stay_as_they_are() -> None:
    trailers = "Signed-off-by: A <a@b.c>\nReviewed-by: D <d@e.f>\n"
    assert with_evidence(f"{UNMEASURED}\n{trailers}", "It went up.\n").endswith(f"casts).\n\n{trailers}")


def test_a_message_that_somebody_else_wrote_is_left_alone() -> None:
    mail = "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] tail moves\n\nIt is hot.\n"
    assert with_evidence(mail, "It went up.\n") == mail


@text_cases(CASES / "narrow.txt")
def test_a_layout_is_made_narrow(case: TextCase) -> None:
    assert within_width(case.before.decode().splitlines(), 73) == case.after.decode().splitlines()


# The word in front of the subject


# Refusals


def test_every_code_of_a_refusal_is_explained_once() -> None:
    explained = re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "refusals.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(explained) == sorted(RefusalCode)


def test_a_refusal_says_in_one_sentence_what_lifts_it_and_passes_from_process_to_process() -> None:
    refused = EditRefused(Refusal(RefusalCode.JOINT, "a.h:2", "they are on one line", "give it its own first"))
    assert str(refused) == "a.h:2: they are on one line; give it its own first"
    assert str(Refusal(RefusalCode.USER_ABI, "a.h:1", "it is shared")) == "a.h:1: it is shared"
    assert pickle.loads(pickle.dumps(refused)).refusal == refused.refusal  # noqa: S301 - our own bytes
