# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of C that a program states once more in Rust, as bindgen writes them: C's own record is judged for both."""

from __future__ import annotations

from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.model import Layout

# What bindgen calls a part without a name ends so.
_PART = "__bindgen_"


def is_restated(layout: Layout, layouts: Layouts) -> bool:
    """Whether a record inside a module, which states no place, is called like one of C that does, and as large.

    A part without a name may have any size.
    """
    module, _, own = layout.name.rpartition("::")
    if not module or layout.file:  # rustc states no places of types, compilers of C and C++ do
        return False
    name, part, _ = own.partition(_PART)
    return any(one.file and (part or one.size == layout.size) for one in layouts.variants(name))
