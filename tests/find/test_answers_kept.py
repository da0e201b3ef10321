# SPDX-License-Identifier: GPL-2.0-or-later
"""What one line asked of a piece of code is not asked again for the next line, and is never another code's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hand_made import scalar, struct, table

from linesmith.analyzer.attribution.code_touches import CodeTouches
from linesmith.analyzer.attribution.evidence import Evidence, FunctionEvidence, Reach
from linesmith.analyzer.attribution.likelihood import KEPT, Clue, clues_of, probability
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import Access, AccessCounts

QUEUE = struct("queue", scalar("head"), scalar("tail"))
QUEUES = Containment(table(QUEUE))
READS_HEAD = CodeTouches({(QUEUE.id, 0): AccessCounts(reads=4)}, {}, AccessCounts(reads=4), AccessCounts(reads=4))


def known() -> Evidence:
    """``push`` reaches a queue and stores to its tail, ``peek`` reads its head; ``peek_all`` works on nothing."""
    return Evidence(
        {
            "push": FunctionEvidence({"queue": Reach(1.0, False, "q")}, frozenset({0, 8}), frozenset({8})),
            "peek": FunctionEvidence({"queue": Reach(1.0, True, "q")}, frozenset({0}), touches=READS_HEAD),
            "peek_all": FunctionEvidence({}),
        },
        {0x40: READS_HEAD},
    )


def load(function: str, offset: int = 0, **more: object) -> Access:
    return Access(offset, function, hitm_local=9, **more)  # type: ignore[arg-type]


def store(function: str, offset: int = 0) -> Access:
    return Access(offset, function, stores_l1_hit=9)


def only(accesses: Sequence[Access], evidence: Evidence) -> Clue:
    (clue,) = clues_of(accesses, evidence)
    return clue


def test_a_function_on_another_line_is_not_asked_twice() -> None:
    evidence = known()
    first, second = only([load("push")], evidence), only([load("push", 8)], evidence)
    assert probability(first, QUEUE.id, 8, QUEUES) is probability(second, QUEUE.id, 8, QUEUES)


@pytest.mark.parametrize(
    "other",
    [
        [store("push")],
        [load("push"), store("push")],
        [load("peek")],
        [load("push", code_address=0x40)],
        [load("pe", symbol_cut=True)],
    ],
    ids=["stores", "both", "another function", "a known instruction", "a name that was cut"],
)
@pytest.mark.parametrize("offset", [0, 4, 8, 12, 16])
def test_who_asked_before_changes_no_answer(other: list[Access], offset: int) -> None:
    used = known()
    for asked in ([load("push")], [load("pe")], other, [load("peek")]):
        alone = probability(only(asked, known()), QUEUE.id, offset, QUEUES)
        assert probability(only(asked, used), QUEUE.id, offset, QUEUES) == alone


def test_answers_of_one_file_are_not_those_of_another() -> None:
    holed = replace(QUEUE, members=QUEUE.members[:1])
    clue = only([load("push")], known())
    assert probability(clue, QUEUE.id, 8, QUEUES) != probability(clue, QUEUE.id, 8, Containment(table(holed)))


def test_no_more_than_a_number_of_answers_is_kept() -> None:
    clue = only([load("push")], known())
    for offset in range(KEPT + 10):
        probability(clue, QUEUE.id, offset, QUEUES)
    assert len(clue.answers) <= KEPT
