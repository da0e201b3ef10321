# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds of drawings that are made again alike on another day, by another process and on another machine."""

from __future__ import annotations

from hashlib import blake2b


def seed_of(*parts: int | str | float) -> int:
    """A seed of 64 bits from what the drawing is about; the built-in ``hash`` differs from process to process."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big")
