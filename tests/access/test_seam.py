# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds and outcomes are numbers on the native side: the order must be that of the header."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

import pytest

from linesmith.analyzer.model import AccessKind, AccessOutcome

NATIVE = Path(__file__).resolve().parents[2] / "analyzer" / "native" / "access"


def enumerators(header: str, name: str) -> list[str]:
    """The names of an enumeration in C++, as Python spells names."""
    path = NATIVE / header
    if not path.is_file():
        pytest.skip("the sources of the native core are in a checkout only")
    body = re.search(rf"enum class {name} [^{{]*{{(.*?)}};", path.read_text(), re.DOTALL)
    assert body
    names = re.findall(r"\bk([A-Z]\w*)", re.sub(r"//.*", "", body[1]))
    return [re.sub(r"(?<!^)(?=[A-Z])", "_", one).upper() for one in names]


@pytest.mark.parametrize(
    ("header", "name", "kind"),
    [("machine_code.h", "AccessKind", AccessKind), ("access_map.h", "Outcome", AccessOutcome)],
)
def test_both_sides_count_alike(header: str, name: str, kind: type[StrEnum]) -> None:
    assert [one.name for one in kind] == enumerators(header, name)
