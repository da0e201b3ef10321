# SPDX-License-Identifier: GPL-2.0-or-later
"""What takes too long is ended, what is quick is not."""

from __future__ import annotations

from itertools import count

import pytest
from fixes.patience import OutOfPatience, patience


def test_work_without_end_is_ended() -> None:
    with pytest.raises(OutOfPatience), patience(0.05):
        for _ in count():
            pass


def test_nothing_happens_to_work_that_is_done_in_time() -> None:
    with patience(0.2):
        pass
    assert sum(range(10_000_000)) == 49_999_995_000_000
