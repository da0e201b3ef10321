# SPDX-License-Identifier: GPL-2.0-or-later
"""Other names of a record: typedefs of its tag."""

from __future__ import annotations

import re
from pathlib import Path

from linesmith.patches.kbuild import is_kernel
from linesmith.patches.masking import without_comments
from linesmith.patches.records import Record
from linesmith.patches.semantic.mentions import read_source, source_files


def aliases(tree: Path, record: Record) -> tuple[str, ...]:
    """The typedefs of ``record`` anywhere in the tree, by name.

    None for a kernel, which hardly has any: there it is left to Coccinelle to find them in headers.
    """
    if record.typedef or is_kernel(tree):
        return ()
    tag = re.escape(record.name.encode())
    body = rb"(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})?+"
    pattern = re.compile(rb"\btypedef\s+" + record.kind.encode() + rb"\s+" + tag + rb"\s*" + body + rb"\s*(\w+)\s*;")
    found: set[str] = set()
    for file in source_files(tree):
        source = read_source(tree / file)
        if b"typedef" in source and record.name.encode() in source:
            found.update(match[1].decode() for match in pattern.finditer(without_comments(source)))
    return tuple(sorted(found - {record.name}))
