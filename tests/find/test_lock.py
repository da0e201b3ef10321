# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as a lock, by the words of a type's or a function's name."""

from __future__ import annotations

import pytest

from linesmith.analyzer.attribution.lock import is_lock, takes_lock, waits_for_lock


@pytest.mark.parametrize(
    "record", ["rw_semaphore", "raw_spinlock", "qspinlock", "pthread_mutex_t", "vma_lock", "mutex"]
)
def test_locks(record: str) -> None:
    assert is_lock(record)


@pytest.mark.parametrize("record", ["block_device", "clock_event_device", "super_block", "address_space"])
def test_words_that_only_end_like_a_lock(record: str) -> None:
    assert not is_lock(record)


@pytest.mark.parametrize("function", ["down_write", "up_read", "_raw_spin_lock_irqsave", "__pthread_rwlock_rdlock"])
def test_functions_that_take_or_release_one(function: str) -> None:
    assert takes_lock(function)


@pytest.mark.parametrize(
    "function", ["read_write_func", "write_cache", "read_pages", "block_read_full_folio", "updown"]
)
def test_functions_that_only_read_and_write(function: str) -> None:
    assert not takes_lock(function)


@pytest.mark.parametrize("function", ["rwsem_spin_on_owner", "native_queued_spin_lock_sl", "__lll_lock_wait"])
def test_functions_that_wait(function: str) -> None:
    assert waits_for_lock(function)


@pytest.mark.parametrize("function", ["rtlock_slowlock_locked", "rt_mutex_slowlock_block.constprop.0"])
def test_functions_that_wait_for_a_lock_of_a_real_time_kernel(function: str) -> None:
    assert takes_lock(function)
    assert waits_for_lock(function)


@pytest.mark.parametrize("function", ["rt_spin_lock", "rt_spin_unlock", "rwbase_write_lock", "rt_mutex_slowunlock"])
def test_functions_of_a_real_time_kernel_that_need_not_wait(function: str) -> None:
    assert takes_lock(function)
    assert not waits_for_lock(function)
