# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records are locks, and which functions fight for one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from linesmith.analyzer.model import Member

# Words that, as a whole part of a record's name, make it a lock: raw_spinlock, pthread_mutex_t, std::mutex.
# Whole parts, because block and clock end in "lock" too.
LOCK_WORDS = frozenset(
    (
        *("lock", "spinlock", "rwlock", "qrwlock", "qspinlock", "seqlock", "lockref"),
        *("mutex", "rwsem", "semaphore", "seqcount", "futex"),
    )
)
# Sizes of a plain number that is a lock.
PLAIN_BYTES = (4, 8)
_LOCK_FUNCTION = re.compile(
    r"(?:^|_)(?:un|try|rd|wr|rt|slow)?lock(?:$|_)|slowpath|spin_on_owner|(?:^|_)(?:osq|mcs|rwsem|mutex|lll)_"
    r"|^_*(?:down|up)(?:$|_(?:read|write|killable|interruptible|trylock|timeout))"
)
_WAITING = re.compile(
    r"slowpath|slow_path|queued_spin_lock_sl|spin_on_owner|osq_lock|optimistic_spin|lll_lock_wait|mcs_spin|_wait$|rwlock_(?:rd|wr)lock"
    r"|_slowlock|blocks_on_rt_mutex"  # of PREEMPT_RT (kernel/locking/rtmutex.c)
)
_RELEASE = re.compile(r"(?:^|_)(?:un|rdun|wrun)lock(?:$|_)|^_*up(?:$|_(?:read|write))")
_SLEEPING = re.compile(r"mutex|rwsem|semaphore|^_*(?:down|up)(?:$|_)")
_QUEUED = re.compile(r"^_raw_(?:spin|read|write)|queued_(?:spin|read|write)")
_READING = re.compile(r"_read(?:$|_)|(?:^|_)read_(?:try|un)?lock|rdlock")
# What others call to copy, link or count, by its names in Linux and C libraries: who called it is the one that acts.
_HELPER = re.compile(
    r"_*(?:mem(?:cpy|set|move)|(?:clear|copy)_page(?:$|_erms|_rep|_orig|_mc)|str(?:n?cpy|n?cmp|len)|atomic"
    r"|(?:h?list|llist|rb|vma_interval_tree|xas?|idr|ida|refcount|kref|percpu_(?:counter|ref))_)"
)
_WORD = re.compile(r"[a-z0-9]+")
# Only the C library's own code reads and writes these; POSIX gives them no members (pthread.h, semaphore.h).
_OPAQUE = re.compile(r"pthread_(?:mutex|rwlock|cond|barrier)_t|sem_t")


def is_opaque(record: str) -> bool:
    """Whether a program never touches a member of this record itself, but calls the C library for it."""
    return bool(_OPAQUE.fullmatch(record))


def is_lock(record: str) -> bool:
    """Whether a record of this name is a lock, by the words of its name; ``futex_hash_bucket`` is what futexes need."""
    return not LOCK_WORDS.isdisjoint(re.split("[_:]", record.removeprefix("futex_")))


def has_lock(records: Iterable[str]) -> bool:
    """Whether one of the records entered on the way to a member is a lock."""
    return any(is_lock(record) for record in records)


def is_helper(function: str) -> bool:
    """Whether a function acts for who called it: takes a lock, copies, links or counts."""
    return takes_lock(function) or bool(_HELPER.match(function))


def is_lock_word(member: Member) -> bool:
    """Whether a plain number is a lock, by its name or its type's: ``HA_RWLOCK_T queue_lock``, an ``unsigned long``."""
    plain = member.record is None and not member.is_bit_field and "*" not in member.type
    of_type = member.size in PLAIN_BYTES and not LOCK_WORDS.isdisjoint(words_of(member.type))
    return plain and (of_type or is_lock_name(member.name, member.size))


def is_lock_name(name: str, size: int | None) -> bool:
    """Whether a plain number of that name, of ``size`` in bytes, is a lock: ``wq_lock``."""
    return size in PLAIN_BYTES and name.rpartition("_")[2] in LOCK_WORDS


def words_of(name: str) -> frozenset[str]:
    """The words of a member's or function's name: ``i``, ``mmap`` and ``rwsem`` of ``i_mmap_rwsem``."""
    return frozenset(_WORD.findall(name.lower()))


def purpose(lock: str) -> frozenset[str]:
    """The words of a lock's name that say what it is for: ``i`` and ``mmap`` of ``i_mmap_rwsem``."""
    return words_of(lock) - LOCK_WORDS - {"sem"}


def takes_lock(function: str) -> bool:
    """Whether a function's name says that it takes or releases a lock; used where no type is known."""
    return bool(_LOCK_FUNCTION.search(function))


def waits_for_lock(function: str) -> bool:
    """Whether a function's name says that it waits for a lock somebody else holds."""
    return bool(_WAITING.search(function))


def releases_lock(function: str) -> bool:
    """Whether a function's name says that it releases a lock."""
    return bool(_RELEASE.search(function))


def lets_readers_in(function: str) -> bool:
    """Whether a function's name says that it takes or releases a lock for reading, as others may do meanwhile."""
    return bool(_READING.search(function))


def queues_up(function: str) -> bool:
    """Whether a function's name says that it takes a spinning lock of a kernel, which serves those who wait in turn."""
    return bool(_QUEUED.search(function))


def may_sleep(function: str) -> bool:
    """Whether a function's name says that it takes or releases a lock whose holder may sleep."""
    return bool(_SLEEPING.search(function))
