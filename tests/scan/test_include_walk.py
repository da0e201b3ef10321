# SPDX-License-Identifier: GPL-2.0-or-later
"""What a unit includes, from the text alone."""

from __future__ import annotations

from pathlib import Path

from scan.trees import written

from linesmith.patches.scan.files import Files
from linesmith.patches.scan.include_walk import IncludeWalk
from linesmith.patches.scan.unit import Unit


def includes(tree: Path, options: str = "-nostdinc -I include") -> set[str]:
    unit = Unit(str(tree / "src/a.c"), tree, f"gcc {options} -c src/a.c", tree)
    (followed,) = IncludeWalk(Files((Path("/"),))).followed([unit])
    return {Path(file).relative_to(tree).as_posix() for file in followed.includes or ()}


def test_quotes_look_beside_the_file_first_brackets_do_not(tmp_path: Path) -> None:
    files = {
        "src/a.c": '#include "x.h"\n#include <y.h>',
        "src/x.h": "",
        "src/y.h": "",
        "include/x.h": "",
        "include/y.h": "",
    }
    assert includes(written(tmp_path, files)) == {"src/x.h", "include/y.h"}


def test_both_arms_of_a_condition_count(tmp_path: Path) -> None:
    text = "#ifdef A\n# include <x.h>\n#else\n#include <y.h>\n#endif\n"
    assert includes(written(tmp_path, {"src/a.c": text, "include/x.h": "", "include/y.h": ""})) == {
        "include/x.h",
        "include/y.h",
    }


def test_headers_that_include_each_other_end(tmp_path: Path) -> None:
    files = {"src/a.c": "#include <x.h>", "include/x.h": "#include <y.h>", "include/y.h": "#include <x.h>"}
    assert includes(written(tmp_path, files)) == {"include/x.h", "include/y.h"}


def test_a_header_of_the_command_line_counts(tmp_path: Path) -> None:
    files = {"src/a.c": "", "include/forced.h": "#include <x.h>", "include/x.h": ""}
    options = "-nostdinc -I include -include include/forced.h"
    assert includes(written(tmp_path, files), options) == {"include/forced.h", "include/x.h"}
