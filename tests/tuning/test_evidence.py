# SPDX-License-Identifier: GPL-2.0-or-later
"""What a search goes out from is explained by what the code really touches, not only by what it declares."""

from __future__ import annotations

import subprocess
from pathlib import Path

from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.model import Access, ObjectArea, ObjectKind, Profile, SharedLine
from linesmith.tuner.tuning.evidence import Explained, with_all_lines

SOURCE = """\
struct account { long opened[4]; long balance; };
void pay(struct account *account, long *sums) { account->balance += sums[1]; }
"""
LINE = 0x1000


def test_all_lines_of_a_type_are_explained_by_the_access_map(tmp_path: Path) -> None:
    (tmp_path / "pay.c").write_text(SOURCE)
    program = tmp_path / "pay.o"
    subprocess.run(["gcc", "-g", "-O1", "-c", "pay.c", "-o", str(program)], check=True, cwd=tmp_path)
    line = SharedLine(0, LINE, (Access(32, "pay", hitm_local=100),), hitm_local=100)
    area = ObjectArea(ObjectKind.SLAB, "accounts", LINE, 40, 40, 1, ("account",))
    seen = Explained(
        program, Profile("test", "", "hitm", (line,), areas=(area,)), read_layouts(program).layouts, (), None
    )
    (found,) = with_all_lines(seen, "account").findings
    assert [(member.path, member.write_inferred) for member in found.members] == [("balance", "pay writes it")]
