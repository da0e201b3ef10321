# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles with any values in all their fields."""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from linesmith.analyzer.model import Profile

# Control characters and odd blanks do not come back: readers leave nothing in names that a terminal would obey.
_TEXT = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20)
_BY_TYPE = {int: st.integers(0, (1 << 63) - 1), str: _TEXT, bool: st.booleans(), float: st.floats(0, 1)}
# Fields that not every value of their type does for.
_BY_NAME = {
    "CacheLine.bytes": st.sampled_from((64, 128, 256)),
    "Profile.display": st.sampled_from(("hitm", "peer")),
    "ObjectArea.address": st.integers(0, 1 << 62),
    "ObjectArea.size": st.integers(1, 1 << 20),
    "ObjectArea.stride": st.integers(1, 1 << 20),
    "ObjectArea.count": st.integers(1, 1 << 10),
}


@cache
def _values(hint: Any) -> st.SearchStrategy[Any]:
    """Any values of a field's type."""
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(
            hint, **{name: _BY_NAME.get(f"{hint.__name__}.{name}", _values(hints[name])) for name in hints}
        )
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if get_origin(hint) is UnionType:
        return st.one_of(*(_values(one) for one in get_args(hint)))
    if hint is NoneType:
        return st.none()
    assert get_origin(hint) is tuple, hint
    of, *others = get_args(hint)
    if others == [...]:
        return st.lists(_values(of), max_size=2).map(tuple)
    return st.tuples(*map(_values, get_args(hint)))


PROFILES: st.SearchStrategy[Profile] = _values(Profile)
