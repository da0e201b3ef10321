# SPDX-License-Identifier: GPL-2.0-or-later
"""Which layout change did it: builds of one program, recorded under emulation, so that counts are exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documented import obeys
from hand_made import finding, hot, scalar, struct, table
from linesmith_command import linesmith
from record.programs import compile_c

from linesmith.analyzer.base.elf import ElfSymbols
from linesmith.analyzer.comparison.compare import ProfileFindings, compare
from linesmith.analyzer.comparison.layout_blame import ProfiledBuild, blame, unseen
from linesmith.analyzer.comparison.sums import sums
from linesmith.analyzer.model import (
    Bounds,
    Exposure,
    Finding,
    Layout,
    LayoutBlame,
    LineCost,
    LineObject,
    Outcome,
    Profile,
    Recording,
    SharingCost,
    Side,
)

SOURCE = Path(__file__).with_name("builds.c").read_text()

Recorded = Callable[..., tuple[Path, Path]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A build of the program with a macro defined, and its recording; each is made once."""
    folder, made = tmp_path_factory.mktemp("builds"), {}

    def run(macro: str = "", *options: str) -> tuple[Path, Path]:
        name = "-".join((macro or "base", *options)).replace("=", "")
        if name not in made:
            # The order of variables is that of the source.
            flags = ("-fno-toplevel-reorder", *([f"-D{macro}"] if macro else []))
            program = compile_c(SOURCE, folder / f"{name}.elf", *flags)
            profile = folder / f"{name}.json"
            done = linesmith("record", "--on", "qemu-user", "--quantum", "20", *options, "-o", profile, "--", program)
            assert done.returncode == 0, done.stderr
            made[name] = program, profile
        return made[name]

    return run


def compared(before: tuple[Path, Path], after: tuple[Path, Path], *options: str) -> dict[str, Any]:
    done = linesmith("compare", before[0], before[1], after[1], "--after-elf", after[0], "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    obeys(document, "compare")
    return document


@pytest.mark.parametrize(
    ("macro", "subject", "difference", "pair"),
    [
        ("CONFIG", "struct session", "pushed: config added, 8 bytes at 48 (line 0 byte 48)", ("count", "owner")),
        ("MOVED", "first and second", "160 bytes apart before, 8 now: on one line", ("first", "second")),
    ],
)  # fmt: skip
def test_what_came_to_lie_on_one_line_is_to_blame(
    recorded: Recorded, macro: str, subject: str, difference: str, pair: tuple[str, str]
) -> None:
    (cause,) = compared(recorded(), recorded(macro))["blame"]["causes"]
    assert (cause["subject"], cause["pairs"]) == (subject, [{"first": pair[0], "second": pair[1]}])
    assert difference in cause["differences"]
    assert cause["gained"]["least"] == cause["gained"]["most"] > 1000
    assert cause["share"] == {"least": 1.0, "most": 1.0}


def test_a_counter_pushed_onto_the_adjacent_line_is_to_blame_where_pairs_are_fetched(recorded: Recorded) -> None:
    """What the fetch of the neighbour costs is counted for the whole run only."""
    found = compared(recorded("", "--adjacent"), recorded("NEAR", "--adjacent"))["blame"]
    (cause,) = found["causes"]
    assert (cause["subject"], cause["pairs"]) == ("struct counters", [{"first": "received", "second": "sent"}])
    assert "pushed: apart, 120 -> 56 bytes" in cause["differences"]
    assert cause["gained"]["least"] == 0 < 100 < cause["gained"]["most"] == found["gained"]["most"]


def test_of_a_run_that_does_more_no_layout_is_to_blame(recorded: Recorded) -> None:
    longer = recorded("TIMES=40000")
    found = compared(recorded(), longer)["blame"]
    assert (found["causes"], found["unexplained"]) == ([], [{"first": "received", "second": "received"}])
    each = compared(recorded(), longer, "--operations", "3000,6000")["blame"]
    assert each["gained"] == {"least": 0.0, "most": 0.0}


def test_the_answer_comes_first(recorded: Recorded) -> None:
    (base, before), (program, after) = recorded(), recorded("CONFIG")
    text = linesmith("compare", base, before, after, "--after-elf", program).stdout
    assert "share  layout difference, and who meets now" in text.split("\n\n")[1]
    again = linesmith("compare", base, before, before, "--section", "1", "--after-section", "1", "--after-elf", base)
    assert "no pair of members gained contention beyond what two runs differ by" in " ".join(again.stdout.split())


# Records that are no variables, with counts made up.

NO_SYMBOLS = ElfSymbols(np.empty(0, [("name", "<u4"), ("info", "u1"), ("section", "<u2")]), b"", (), [])


def met(layout: Layout, misses: float, victim: str, writer: str, start: int = 0, least: float | None = None) -> Finding:
    """A line on which one member of an object waits for another."""
    amount = Bounds(misses if least is None else least, misses)
    members = [hot(victim.partition("[")[0], 0, 8, round(misses))]
    sharing = SharingCost(Side(victim, 1, 0), Side(writer, 0, 1), amount, amount)
    return replace(finding(layout, members, phase=start), cost=LineCost(sharings=(sharing,)))


def blamed(
    before: tuple[Layout, Finding | None], after: tuple[Layout, Finding], recording: Recording | None = None
) -> LayoutBlame:
    first, second = (
        ProfiledBuild(table(layout), NO_SYMBOLS, sums([one] if one else []), recording)
        for layout, one in (before, after)
    )
    return blame(first, second, Exposure("", 1.0, 1.0, 5.0 if recording else 0.0))


EXACT = Recording("qemu", ("sh",), (0,), "x86_64")


@pytest.mark.parametrize(("start", "blamed_for"), [(0, []), (16, ["objects begin at byte 0 of a line, 16 before"])])
def test_an_object_that_begins_elsewhere_in_its_line_is_to_blame(start: int, blamed_for: list[str]) -> None:
    layout = struct("node", *(scalar(name) for name in "abcdefghij"))
    found = blamed((layout, met(layout, 0, "a", "a", start=start)), (layout, met(layout, 900, "a", "h")), EXACT)
    assert [text for cause in found.causes for text in cause.differences] == blamed_for


def test_what_met_before_it_moved_is_not_blamed_on_the_move() -> None:
    old = struct("pair", scalar("a"), scalar("b"))
    new = struct("pair", scalar("front"), scalar("a"), scalar("b"))
    found = blamed((old, met(old, 0, "a", "a")), (new, met(new, 900, "a", "b")), EXACT)
    assert (found.causes, [(one.first, one.second) for one in found.unexplained]) == ((), [("a", "b")])


def test_a_lock_whose_words_come_to_lie_on_one_line_is_to_blame() -> None:
    """Its words are one member: it waits for itself, and did not while it lay on two lines."""
    old, new = (
        struct("session", *(scalar(f"m{at}") for at in range(many)), scalar("lock", 16), scalar("rest", 40))
        for many in (7, 8)
    )
    before = (old, met(old, 0, "m0", "m0"))
    (cause,) = blamed(before, (new, met(new, 900, "lock", "lock")), EXACT).causes
    assert cause.differences == (
        "lock 56 (line 0 byte 56) -> 64 (line 1 byte 0)",
        "pushed: m7 added, 8 bytes at 56 (line 0 byte 56)",
    )
    moved_back = blamed((new, met(new, 0, "m0", "m0")), (old, met(old, 900, "lock", "lock")), EXACT)
    assert [(one.first, one.second) for one in moved_back.unexplained] == [("lock", "lock")]


def test_objects_that_became_smaller_have_neighbours() -> None:
    old, new = (struct("slot", *(scalar(f"m{at}") for at in range(many))) for many in (8, 7))
    (cause,) = blamed((old, None), (new, met(new, 500, "m0[1]", "m0[2]")), EXACT).causes
    assert "64 -> 56 bytes, so that objects have other neighbours" in cause.differences
    assert [(one.first, one.second) for one in cause.pairs] == [("m0[]", "another m0[]")]


def test_what_the_earlier_profile_may_have_had_is_not_gained() -> None:
    old = struct("pair", scalar("a"), *(scalar(f"pad{at}") for at in range(8)), scalar("b"))
    new = struct("pair", scalar("a"), scalar("b"))
    after = met(new, 400, "a", "b")
    nothing = LineObject("", None, 0, 0.0, Outcome.CANNOT_TELL)
    before = replace(met(old, 300, "a", "b"), objects=(nothing,), cost=LineCost())
    first, second = (ProfileFindings(Profile("", "", "hitm", ()), (one,)) for one in (before, after))
    builds = [ProfiledBuild(table(layout), NO_SYMBOLS, sums([one])) for layout, one in ((old, before), (new, after))]
    found = blame(builds[0], builds[1], Exposure("", 1.0, 1.0), unseen(compare(first, second)))
    assert (found.causes, found.gained.most) == ((), 0)
    assert 400 < found.doubted < 430


def test_samples_have_intervals() -> None:
    old = struct("pair", scalar("a"), *(scalar(f"pad{at}") for at in range(8)), scalar("b"))
    new = struct("pair", scalar("a"), scalar("b"))
    (cause,) = blamed((old, None), (new, met(new, 400, "a", "b", least=100))).causes
    assert 80 < cause.gained.least < 100 < 400 < cause.gained.most < 430
    assert 0 < cause.share.least < cause.share.most == 1.0
