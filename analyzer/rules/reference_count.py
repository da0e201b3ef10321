# SPDX-License-Identifier: GPL-2.0-or-later
"""Members that count who uses the object: whoever looks at it writes them, as a lock that nobody waits for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from linesmith.analyzer.geometry import Named, nameable
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout, MemberCategory

# Types that are for nothing else, and atomic ones, which hold flags and sums as well: these go by their names.
_COUNTS = re.compile(r"(?:struct )?(?:refcount|kref|rcuref|file_ref)(?:_t|_struct)?")
_ATOMIC = re.compile(r"(?:struct |std::)?_?atomic", re.IGNORECASE)
# What stands in front of it is of the record, as in f_count; an rx_count or error_count is of something else.
_NAME = re.compile(r"_*(?:(?!rx|tx)[a-z]{1,2}_)?(?:count|refcount|refcnt|cnt|refs|users|usage)_?")


def reference_counts(layout: Layout, layouts: Layouts) -> Iterator[Named]:
    """Those of the record, by place: ``refcount_t``, or atomic and called ``f_count``, ``mm_users``, ``usage``."""
    for one in nameable(layout, layouts):
        name = one.path.rpartition(".")[2]
        if one.span.size and not one.member.dimensions and one.member.category is not MemberCategory.POINTER:
            atomic = _ATOMIC.match(one.member.type) and _NAME.fullmatch(name)
            if atomic or _COUNTS.fullmatch(one.member.type):
                yield one
