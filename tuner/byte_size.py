# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes as people write them: a number of bytes with an optional K, M or G, powers of 1024."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d+)\s*([KMG]?)i?B?", re.IGNORECASE)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}


def byte_size(text: str) -> int:
    """The number of bytes; raises ``ValueError``, whose message says how to write one."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is no size; write 512M or 2G")
    return int(match[1]) << _SHIFTS[match[2].upper()]
