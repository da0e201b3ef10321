# SPDX-License-Identifier: GPL-2.0-or-later
"""Macros that may ask for the size of their argument, which an array has and the address of its elements has not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from linesmith.patches.encapsulation.context import statement
from linesmith.patches.encapsulation.member import DeclaredMember, Shape, is_apart
from linesmith.patches.semantic.mentions import Mention, read_source, source_files

_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
# A name in capitals is a macro's, wherever it is defined.
_CAPITALS = "[A-Z_][A-Z0-9_]*"


def measuring(tree: Path, declared: DeclaredMember, found: Iterable[Mention]) -> tuple[str, ...]:
    """Patterns of the names of macros that are called near the mentions of an array; none where it is no array."""
    if declared.shape is not Shape.ARRAY:
        return ()
    near = sorted({name for one in _by_file(tree, found, declared) for name in one})
    return (_CAPITALS, *(sorted(_defined(tree, near)) if near else ()))


def _by_file(tree: Path, found: Iterable[Mention], declared: DeclaredMember) -> Iterator[set[bytes]]:
    own = (one for one in found if not is_apart(one, declared))
    for file, mentions in groupby(own, key=lambda one: one.file):
        source = read_source(tree / file)
        yield {name for one in mentions for name in _CALLED.findall(statement(source, one))}


def _defined(tree: Path, names: Iterable[bytes]) -> set[str]:
    """Those of the names that any file of the tree defines as a macro with arguments."""
    pattern = re.compile(rb"#[ \t]*define[ \t]+(" + b"|".join(names) + rb")\(")
    return {name.decode() for file in source_files(tree) for name in pattern.findall(read_source(tree / file))}
