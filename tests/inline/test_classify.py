# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expression does with the pointer ``p`` of ``x``, which leads to one ``struct foo``: ``cases/uses.txt``."""

from __future__ import annotations

from pathlib import Path

from patch_cases import write_files
from text_cases import text_rows

from linesmith.patches.inline.inline import inlined

HEADER = "struct foo { int a; };\nstruct bar {\n\tint b;\n\tstruct foo *p;\n};\n"
# Something that is always in the way: no semantic patch has to be run then.
SHARED = "void shared(struct bar *x, struct foo *y) { x->p = y; }\n"


@text_rows(Path(__file__).with_name("cases") / "uses.txt")
def test_each_use_has_one_role(tmp_path: Path, source: str, expected: list[str]) -> None:
    text = f"void f(struct bar *x, struct foo *q, struct foo *alias)\n{{\n{source}\n}}\n"
    files = {"x.h": HEADER, "f.c": text, "shared.c": SHARED}
    uses = inlined("bar", "p", write_files(tmp_path, files), print).study.uses.places
    told = [(one.role.name, one.refusal) for one in uses if one.file == "f.c"]
    assert [
        role if no is None else f"{role} {no.code.name} in line {no.place.removeprefix('f.c:')}: {no.reason}"
        for role, no in told
    ] == expected
