# SPDX-License-Identifier: GPL-2.0-or-later
"""Text that a terminal only shows: names come from files that anyone may have written."""

from __future__ import annotations

_CONTROLS = dict.fromkeys((*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0)), "\ufffd")


def inert(text: str) -> str:
    """``text`` with every control character but newline and tab replaced, so that it cannot steer a terminal."""
    return text.translate(_CONTROLS)
