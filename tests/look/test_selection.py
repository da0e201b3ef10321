# SPDX-License-Identifier: GPL-2.0-or-later
"""A name that no record has: what is offered instead."""

from __future__ import annotations

import pytest
from hand_made import struct, table

from linesmith.analyzer.errors import TypeNotFound
from linesmith.analyzer.selection import MOST_LISTED, select


def refused(names: list[str], wanted: str) -> str:
    """What is said of a file with records called so."""
    layouts = table(*map(struct, names))
    with pytest.raises(TypeNotFound) as raised:
        select(layouts, (wanted,))
    return str(raised.value).partition("; ")[2]


def test_the_nearest_name_is_offered() -> None:
    assert refused(["session_index", "worker"], "sesion_index") == "did you mean session_index?"


def test_of_a_small_program_all_names_are_told() -> None:
    assert refused(["queue", "worker"], "mutex") == "it has queue, worker"


def test_of_a_large_one_it_is_told_how_to_find_names() -> None:
    names = [f"record_{number}" for number in range(MOST_LISTED + 1)]
    assert refused(names, "mutex") == "patterns such as 'tcp_*' show what there is"


def test_without_records_that_is_told() -> None:
    assert refused([], "mutex") == "it has none at all"


def test_a_type_without_quotes_is_told_apart() -> None:
    assert refused(["queue"], "struct").startswith("put it and the name in quotes, as in 'struct name'")
