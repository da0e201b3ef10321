# SPDX-License-Identifier: GPL-2.0-or-later
"""Lock contention names the lock, and what it probably protects by what the functions that hold it write.

``locking.c``: ``table_grow`` and ``table_shrink`` take ``slots_lock`` by an inlined function of the same name,
``table_forget`` takes ``hits_lock``, ``table_init`` takes none.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hand_made import finding, hot

from linesmith.analyzer.access import read_accesses
from linesmith.analyzer.dwarf import read_layouts, touched
from linesmith.analyzer.model import ContendedLock, Finding, Outcome, Triage, TriageKind
from linesmith.analyzer.report.lock import lock_rows
from linesmith.analyzer.sharing.contended_lock import name_locks

SOURCE = Path(__file__).with_name("locking.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("locking") / "locking.o"
    subprocess.run(["gcc", "-g", "-O1", "-c", str(SOURCE), "-o", str(target)], check=True)
    return target


def contended(program: Path, type_: str, lock: str, word: str) -> Finding:
    """A line on which everybody waits for a lock, with the lock named."""
    layouts = read_layouts(program).layouts
    (layout,) = layouts.variants(type_)
    (member,) = (one for one in layout.members if one.name == lock)
    found = finding(layout, [hot(f"{lock}.{word}", member.offset, 4, 100, lock=True)])
    waiting = replace(found, triage=Triage((TriageKind.LOCK_CONTENTION,), (), ""))
    accesses = read_accesses(program).accesses
    (named,) = name_locks([waiting], layouts, accesses, partial(touched, program))
    return named


def lock_of(program: Path, type_: str, lock: str, word: str) -> ContendedLock:
    named = contended(program, type_, lock, word).lock
    assert named is not None
    return named


def test_a_lock_protects_what_the_functions_write_that_take_it(program: Path) -> None:
    lock = lock_of(program, "table", "slots_lock", "count")
    assert [(one.member, one.held, one.writers, one.named_alike) for one in lock.members] == [
        ("slots", 1, 1, True),
        ("entries", 2, 3, False),
    ]
    assert (lock.record, lock.holders, lock.taken_by) == ("sleep_lock", ("table_grow", "table_shrink"), ("slots_lock",))


def test_a_lock_given_to_a_locking_function_is_the_objects_if_it_has_one_of_that_kind(program: Path) -> None:
    assert [one.member for one in lock_of(program, "counter", "guard", "word").members] == ["value"]


def test_a_member_that_most_functions_write_without_the_lock_is_not_protected(program: Path) -> None:
    lock = lock_of(program, "table", "hits_lock", "word")
    assert [(one.member, one.held, one.writers, one.named_alike) for one in lock.members] == [("hits", 1, 3, True)]
    assert not any(one.member == "hits" for one in lock_of(program, "table", "slots_lock", "count").members)


def test_of_a_lock_nobody_takes_it_is_said_that_the_code_does_not_tell(program: Path) -> None:
    lock = lock_of(program, "table", "other_lock", "count")
    assert lock.members == ()
    assert lock_rows(lock)[0].endswith("what it protects the code does not tell")


def test_the_remedies_are_changes_of_the_structure(program: Path) -> None:
    rows = lock_rows(lock_of(program, "table", "slots_lock", "count"))
    assert rows[0] == (
        "the lock is table.slots_lock (sleep_lock); it probably protects slots (named alike; 1 of 1 functions "
        "that write it take the lock), entries (2 of 3 functions that write it take the lock); held in table_grow, "
        "table_shrink by slots_lock"
    )
    assert rows[1].startswith("what can help: shard the lock with slots, entries, per CPU or per node")
    assert "shrink it: 32 bytes" in rows[2]
    assert not any("shrink" in row for row in lock_rows(lock_of(program, "counter", "guard", "word"))[1:])


def test_a_lock_that_code_knows_only_as_such_is_not_named(program: Path) -> None:
    named = contended(program, "table", "slots_lock", "count")
    (owner,) = named.objects
    unknown = replace(named, lock=None, objects=(replace(owner, outcome=Outcome.INNER_TYPE_ONLY),))
    layouts = read_layouts(program).layouts
    (found,) = name_locks([unknown], layouts, None, partial(touched, program))
    assert found.lock is None
