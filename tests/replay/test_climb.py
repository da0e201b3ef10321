# SPDX-License-Identifier: GPL-2.0-or-later
"""A search by replay: a change of several moves is found though no single one is enough."""

from __future__ import annotations

from pathlib import Path

from hand_made import meeting, scalar, struct, table
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.model import Layout, ObjectArea, ObjectKind
from linesmith.tuner.propose.candidates import after
from linesmith.tuner.propose.subject import ContendedRecord, subject
from linesmith.tuner.replay.climb import climbed
from linesmith.tuner.replay.replayer import open_trace
from linesmith.tuner.replay.runs import RecordRuns
from linesmith.tuner.replay.scene import scene

AT = 0xFFFF888000000000
# One CPU stores to ``sent`` and ``got``, the other loads the two members between them.
QUEUE = struct(
    "queue",
    *(scalar(name) for name in ("sent", "limit", "got", "table")),
    *(scalar(f"cold{number}") for number in range(12)),
    align=64,
)


def recorded(folder: Path, steps: list[Step], record: Layout = QUEUE) -> tuple[ContendedRecord, RecordRuns]:
    """The record of a profile that shows one of the pairs, and the run that has all of them."""
    area = ObjectArea(ObjectKind.SLAB, "queue_cache", AT, record.size, record.size, 32, (record.name,))
    replay = open_trace(write_trace(folder / "trace", steps, (0, 0)), [scene(record, [area], table(record))])
    runs = RecordRuns([(replay, 0)], table(record), None, replay.traced[64].total)
    return subject(meeting(record, "sent", "limit"), table(record)), runs


def test_a_change_of_several_moves_is_found_step_by_step(tmp_path: Path) -> None:
    steps = [Step(0, "S", AT), Step(1, "L", AT + 8), Step(0, "S", AT + 16), Step(1, "L", AT + 24)]
    target, runs = recorded(tmp_path, turns(steps, 100))
    found = climbed(target, runs, QUEUE)
    left = [runs.sketch({QUEUE.id: after(target, option, QUEUE)}).total for option in found]
    assert len(left) == 2
    assert runs.now.total > left[0] > left[1] == 0


def test_nothing_is_searched_where_every_miss_is_of_one_member(tmp_path: Path) -> None:
    target, runs = recorded(tmp_path, turns([Step(0, "A", AT), Step(1, "A", AT)], 100))
    assert climbed(target, runs, QUEUE) == ()
