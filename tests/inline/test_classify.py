# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expression does with the pointer ``p`` of ``x``, which leads to one ``struct foo``: ``cases/uses.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import write_files
from text_cases import text_rows

from linesmith.patches.inline.inline import inlined

HEADER = "struct foo { int a; };\nstruct bar {\n\tint b;\n\tstruct foo *p;\n};\n"
# Something that is always in the way: no semantic patch has to be run then.
SHARED = "void shared(struct bar *x, struct foo *y) { x->p = y; }\n"


ROWS = text_rows(Path(__file__).with_name("cases") / "uses.txt")


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is found in each source, in a tree that has a file for each."""
    sources = {f"f{number}.c": source for number, (source, _) in enumerate(ROWS.args[1])}
    head = "void f(struct bar *x, struct foo *q, struct foo *alias)"
    files = {name: f"{head}\n{{\n{source}\n}}\n" for name, source in sources.items()}
    tree = write_files(tmp_path_factory.mktemp("uses"), {"x.h": HEADER, "shared.c": SHARED, **files})
    found: dict[str, list[str]] = {source: [] for source in sources.values()}
    for one in inlined("bar", "p", tree, print).study.uses:
        if one.file in sources:
            no = one.refusal
            why = f" {no.code.name} in line {no.place.partition(':')[2]}: {no.reason}" if no else ""
            found[sources[one.file]].append(f"{one.role.name}{why}")
    return found


@ROWS
def test_each_use_has_one_role(uses: dict[str, list[str]], source: str, expected: list[str]) -> None:
    assert uses[source] == expected
