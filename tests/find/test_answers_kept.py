# SPDX-License-Identifier: GPL-2.0-or-later
"""What one line asked of a piece of code is not asked again for the next line, and is never another code's answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from find.lines import accesses
from hand_made import scalar, struct, table

from linesmith.analyzer.attribution.code_touches import CodeTouches
from linesmith.analyzer.attribution.evidence import Evidence, FunctionEvidence, Reach
from linesmith.analyzer.attribution.likelihood import KEPT, Clue, clues_of, probability
from linesmith.analyzer.containment import Containment
from linesmith.analyzer.model import AccessCounts

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


def only(rows: str, evidence: Evidence) -> Clue:
    met = accesses(rows, lambda _function, address: int(address, 0))
    (clue,) = clues_of([replace(one, symbol_cut=one.function == "pe") for one in met], evidence)
    return clue


def test_a_function_on_another_line_is_not_asked_twice() -> None:
    evidence = known()
    first, second = only("0 push 9", evidence), only("8 push 9", evidence)
    assert probability(first, QUEUE.id, 8, QUEUES) is probability(second, QUEUE.id, 8, QUEUES)
    for offset in range(KEPT + 10):
        probability(first, QUEUE.id, offset, QUEUES)
    assert len(first.answers) <= KEPT


@pytest.mark.parametrize("other", ["0 push 0/9", "0 push 9, 0 push 0/9", "0 peek 9", "0 push 9 @0x40", "0 pe 9"])
@pytest.mark.parametrize("offset", [0, 4, 8, 12, 16])
def test_who_asked_before_changes_no_answer(other: str, offset: int) -> None:
    used = known()
    for asked in ("0 push 9", "0 pe 9", other, "0 peek 9"):
        alone = probability(only(asked, known()), QUEUE.id, offset, QUEUES)
        assert probability(only(asked, used), QUEUE.id, offset, QUEUES) == alone


def test_answers_of_one_file_are_not_those_of_another() -> None:
    clue, holed = only("0 push 9", known()), replace(QUEUE, members=QUEUE.members[:1])
    assert probability(clue, QUEUE.id, 8, QUEUES) != probability(clue, QUEUE.id, 8, Containment(table(holed)))
