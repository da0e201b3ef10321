# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks: by which names they are known, and what a contended one probably protects.

``locking.c``: ``table_grow`` and ``table_shrink`` take ``slots_lock`` by an inlined function of the same name,
``table_forget`` takes ``hits_lock``, ``table_init`` takes none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from find.lines import Built, profile_of
from hand_made import finding, hot

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.lock import is_lock, takes_lock, waits_for_lock
from linesmith.analyzer.layouts.dwarf import read_layouts, touched
from linesmith.analyzer.model import Access, CacheLine, CallPath, ContendedLock, Finding, Outcome, Triage, TriageKind
from linesmith.analyzer.report.findings import ProfileSection, render_lines
from linesmith.analyzer.sharing.contended_lock import name_locks


def test_names_of_locks_and_of_functions_that_take_one_or_wait() -> None:
    assert all(map(is_lock, ["rw_semaphore", "raw_spinlock", "qspinlock", "pthread_mutex_t", "vma_lock", "std::mutex"]))
    assert not any(map(is_lock, ["block_device", "clock_event_device", "super_block", "address_space"]))
    waits = "rwsem_spin_on_owner native_queued_spin_lock_sl __lll_lock_wait"
    real_time = "rtlock_slowlock_locked rt_mutex_slowlock_block.constprop.0"
    takes = "down_write up_read _raw_spin_lock_irqsave __pthread_rwlock_rdlock"
    need_not_wait = "rt_spin_lock rt_spin_unlock rwbase_write_lock rt_mutex_slowunlock"
    neither = "read_write_func write_cache read_pages block_read_full_folio updown"
    assert all(map(waits_for_lock, f"{waits} {real_time}".split()))
    assert all(map(takes_lock, f"{takes} {real_time} {need_not_wait}".split()))
    assert not any(map(waits_for_lock, need_not_wait.split()))
    assert not any(map(takes_lock, neither.split()))


@pytest.fixture(scope="module")
def program(built: Built) -> Path:
    return built("locking.c")


def contended(program: Path, type_: str, lock: str, word: str) -> Finding:
    """A line on which everybody waits for a lock."""
    (layout,) = read_layouts(program).layouts.variants(type_)
    (member,) = (one for one in layout.members if one.name == lock)
    found = finding(layout, [hot(f"{lock}.{word}", member.offset, 4, 100, lock=True)])
    return replace(found, triage=Triage((TriageKind.LOCK_CONTENTION,), (), ""))


def named(program: Path, waiting: Finding, with_code: bool = True, told: bool = True) -> ContendedLock | None:
    accesses = read_accesses(program).accesses if with_code else None
    ran = CallPath(("table_grow", "table_shrink", "table_forget"), 1)
    profile = profile_of(CacheLine(1, 0, (Access(0, "take_lock", call_paths=(ran,) * told),)))
    (found,) = name_locks([waiting], read_layouts(program).layouts, accesses, partial(touched, program), profile)
    return found.lock


@pytest.mark.parametrize(
    ("type_", "lock", "word", "expected"),
    [
        ("table", "slots_lock", "count", [("slots", 1, 1, True), ("entries", 2, 3, False)]),
        ("counter", "guard", "word", [("value", 1, 1, False)]),  # given to a function that locks one of its kind
        ("table", "hits_lock", "word", [("hits", 1, 3, True)]),  # by its name; most write it without the lock
        ("table", "other_lock", "count", []),  # nobody takes it
    ],
)
def test_a_lock_protects_what_the_functions_write_that_take_it(
    type_: str, lock: str, word: str, expected: list[tuple[str, int, int, bool]], program: Path
) -> None:
    found = named(program, contended(program, type_, lock, word))
    assert found is not None
    assert [(one.member, one.held, one.writers, one.named_alike) for one in found.members] == expected
    assert any("shrink it: 32 bytes" in row for row in found.remedies) == (lock in ("slots_lock", "other_lock"))


def test_without_callers_those_that_lock_it_in_the_binary_are_possible(program: Path) -> None:
    waiting = contended(program, "table", "hits_lock", "word")
    (known, possible) = (named(program, waiting, told=told) for told in (True, False))
    assert known is not None
    assert known.possible == ()
    assert possible is not None
    assert (possible.holders, possible.possible) == ((), ("table_forget",))


def test_what_a_lock_protects_is_told_with_what_can_help(program: Path) -> None:
    waiting = contended(program, "table", "slots_lock", "count")
    told = replace(waiting, lock=named(program, waiting))
    shown = " ".join(render_lines([told], read_layouts(program).identity, ProfileSection(profile_of(), 1, 1)).split())
    assert (
        "the lock is table.slots_lock (sleep_lock); it probably protects slots (named alike; 1 of 1 functions "
        "that write it take the lock), entries (2 of 3 functions that write it take the lock); held in table_grow, "
        "table_shrink by slots_lock"
    ) in shown
    assert "what can help: shard the lock with slots, entries, per CPU or per node" in shown


def test_a_lock_that_code_knows_only_as_such_is_not_named(program: Path) -> None:
    waiting = contended(program, "table", "slots_lock", "count")
    inner = replace(waiting, objects=(replace(waiting.objects[0], outcome=Outcome.INNER_TYPE_ONLY),))
    assert named(program, inner, with_code=False) is None
