# SPDX-License-Identifier: GPL-2.0-or-later
"""Hiding a member in small programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linesmith.patches.encapsulation.encapsulate import Encapsulated, encapsulate

needs_spatch = pytest.mark.skipif(shutil.which("spatch") is None, reason="Coccinelle is not installed")


def hidden(tree: Path, record: str, member: str, accessor: str) -> Encapsulated:
    """The member behind the accessor, in all of the tree."""
    return encapsulate(record, member, accessor, tree, lambda _: None)
