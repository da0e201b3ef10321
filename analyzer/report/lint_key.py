# SPDX-License-Identifier: GPL-2.0-or-later
"""The key of a violation as one word, for tools that follow it from run to run."""

from __future__ import annotations

from linesmith.analyzer.model import Violation


def fingerprint(violation: Violation) -> str:
    """32 hexadecimal digits that depend on the violation's key alone."""
    from hashlib import sha256  # costs 3 ms, and most forms of a report do without

    return sha256("\0".join(violation.key).encode()).hexdigest()[:32]
