# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree with two builds for the tests of the services that run the lint."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_builds import Change, changed_tree


@pytest.fixture
def change(tmp_path: Path) -> Change:
    """A git tree in which a record lost its alignment, with the builds before and after."""
    return changed_tree(tmp_path)
