# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of a commit message: what is expected, what was profiled, checked and measured."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from proposals_by_hand import LINE, replayed
from text_cases import TextCase, text_cases

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import (
    NOT_JUDGED,
    Access,
    CacheLine,
    CompiledUser,
    ConfigurationCheck,
    Dependency,
    DependencyKind,
    FactKind,
    Finding,
    Interval,
    Judgement,
    Profile,
    Recording,
    Refusal,
    RefusalCode,
    Residual,
    Sampling,
    SourceFact,
    SourceScan,
)
from linesmith.analyzer.sharing.findings import recorded_from
from linesmith.patches.message.message import with_evidence
from linesmith.patches.message.paragraphs import further_checks, is_worse, saving

CASES = Path(__file__).with_name("cases")
DOCS = Path(__file__).resolve().parents[2] / "docs"


# What is expected


SAVES = "This saves 44% of the {} (80% interval 30% to 48%): 88 of 200, estimated by replaying {}."
RUNS = "30 runs reconstructed from the profile"
QUOTED = replace(LINE, simulated="4 CPUs", quoted=True)


@pytest.mark.parametrize(
    ("judged", "line", "exact", "said"),
    [
        (replayed(12, runs=30), LINE, True, SAVES.format("contended loads of the profile", RUNS)),
        (
            *(replayed(12, runs=1), LINE, False),
            SAVES.format("misses of the profile", "the recorded accesses with the layouts of the ELF file"),
        ),
        (replayed(12, runs=30), QUOTED, True, SAVES.format("misses of the lines of the report", RUNS)),
        (
            *(replace(replayed(150), interval=Interval(0.4, 0.6)), LINE, True),
            "This adds 25% of the contended loads of the profile (80% interval 20% to 30%): 50 of 200, ",
        ),
    ],
)
def test_the_figures_are_of_the_whole_profile(judged: Judgement, line: Finding, exact: bool, said: str) -> None:
    assert saving(replace(judged, whole=200), line, exact=exact).startswith(said)
    assert saving(NOT_JUDGED, line, exact=exact) == ""


# What was profiled

RECORDED = Recording("qemu", ("/srv/a/b/front", "-c", "/home/a/x.cfg /bin/true\nx"), (0, 0, 1, 1), "x86_64")
ROWS = (CacheLine(0, None, (Access(0, "f", cpus=7), Access(8, "g", cpus=3))),)


@pytest.mark.parametrize(
    ("known", "another", "said"),
    [
        ({}, False, ("a perf c2c report (workload not named)", "")),
        (
            {"lines": ROWS},
            True,
            ("a perf c2c report from another build, with samples of 7 CPUs (workload not named)", ""),
        ),
        (
            {"recording": RECORDED},
            False,
            (
                "a simulation of 4 CPUs and their caches (qemu, running front -c 'x.cfg /bin/true x')",
                "front -c 'x.cfg /bin/true x'",
            ),
        ),
        (
            {"sampling": Sampling(cpus=8, release="6.1.0", command="/srv/redis-benchmark -n 9")},
            False,
            ("a perf profile (8 CPUs, Linux 6.1.0, running redis-benchmark -n 9)", "redis-benchmark -n 9"),
        ),
    ],
)
def test_what_was_profiled(known: dict[str, object], another: bool, said: tuple[str, str]) -> None:
    profile = Profile(**({"source": "a.txt", "title": "", "display": "hitm", "lines": ()} | known))  # type: ignore[arg-type]
    assert recorded_from(profile, another_build=another) == said


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
    found = further_checks((), SCANS[case.title], "struct cache", (KEPT,))
    assert [found.code, f"Not checked: {found.code_left}", *found.details.splitlines()] == list(case.lines)


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

Compiled with gcc 12.2.0 and the tree's flags. The layouts are those of the
rebuilt debug information.

"""
UNMEASURED = f"""\
{BEGINNING}Not checked: other builds, and code that relies on the order of members. No
benchmark has been run.
"""


def test_what_was_measured_stands_before_what_was_not_checked() -> None:
    measured = "Lookups per second went up.\n\n  100 ± 1   +20.0 %   120 ± 2\n"
    assert with_evidence(UNMEASURED, measured) == (
        f"{BEGINNING}{measured}\nNot checked: other builds, and code that relies on the order of members.\n"
    )


def test_trailers_of_a_message_stay_as_they_are() -> None:
    trailers = "Signed-off-by: A <a@b.c>\nReviewed-by: D <d@e.f>\n"
    assert with_evidence(f"{UNMEASURED}\n{trailers}", "It went up.\n").endswith(f"members.\n\n{trailers}")


def test_a_message_that_somebody_else_wrote_is_left_alone() -> None:
    mail = "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] tail moves\n\nIt is hot.\n"
    assert with_evidence(mail, "It went up.\n") == mail


# Refusals


def test_every_code_of_a_refusal_is_explained_once() -> None:
    explained = re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "refusals.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(explained) == sorted(RefusalCode)


def test_a_refusal_says_in_one_sentence_what_lifts_it_and_passes_from_process_to_process() -> None:
    refused = EditRefused(Refusal(RefusalCode.JOINT, "a.h:2", "they are on one line", "give it its own first"))
    assert str(refused) == "a.h:2: they are on one line; give it its own first"
    assert str(Refusal(RefusalCode.USER_ABI, "a.h:1", "it is shared")) == "a.h:1: it is shared"
    assert pickle.loads(pickle.dumps(refused)).refusal == refused.refusal  # noqa: S301 - our own bytes
