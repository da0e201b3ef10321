# SPDX-License-Identifier: GPL-2.0-or-later
"""The lock that a line's cost comes from, what it probably protects, and what can help, in sentences."""

from __future__ import annotations

from linesmith.analyzer.model import ContendedLock, Protected


def lock_rows(lock: ContendedLock | None) -> list[str]:
    """What is told below the diagnosis; none where no lock is contended or its type is not known."""
    if lock is None:
        return []
    record = f" ({lock.record})" if lock.record and lock.record != lock.name else ""
    rows = [f"the lock is {lock.type}.{lock.name}{record}; {_protects(lock)}"]
    return [*rows, *(f"what can help: {remedy}" for remedy in lock.remedies)]


def _protects(lock: ContendedLock) -> str:
    if not lock.members:
        return "what it protects the code does not tell"
    who = f"; held in {', '.join(lock.holders)}" if lock.holders else ""
    how = f" by {', '.join(lock.taken_by)}" if lock.taken_by else ""
    return f"it probably protects {', '.join(map(_member, lock.members))}{who}{how}"


def _member(one: Protected) -> str:
    reasons = ["named alike"] if one.named_alike else []
    if one.held:
        reasons.append(f"{one.held} of {one.writers} functions that write it take the lock")
    elif one.writers:
        reasons.append("functions that write it do not take the lock themselves")
    return f"{one.member} ({'; '.join(reasons)})"
