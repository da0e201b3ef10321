# SPDX-License-Identifier: GPL-2.0-or-later
"""Changed files are found in the overlay by every way that leads to them; the tree is not touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from patch_cases import write_files

from linesmith.patches.build.options import Flags
from linesmith.patches.build.overlay import Overlay, lay_out


def preprocessed(overlay: Overlay, unit: str, *options: str) -> str:
    """What remains of the unit behind the preprocessor, without line marks."""
    flags = Flags("gcc", options, overlay.tree)
    argv = ("gcc", "-E", "-P", *overlay.options(flags), *overlay.quoted((unit,)), str(overlay.unit(unit)))
    done = subprocess.run(argv, cwd=overlay.tree, check=True, capture_output=True, text=True, timeout=300)
    return done.stdout.strip()


ONE, TO_DEEP = {"include/one.h": "before\n"}, {"src/local.h": '#include "deep/one.h"\n'}
MACRO = '#define OWN "one.h"\n#include OWN\n'


@pytest.mark.parametrize(
    ("files", "changed", "unit", "text", "options"),
    [
        (ONE, "include/one.h", "src/a.c", "#include <one.h>\n", "-Iinclude"),
        (ONE, "include/one.h", "src/a.c", '#include "../include/one.h"\n', ""),
        (ONE, "include/one.h", "src/deep/a.c", '#include "../../include/one.h"\n', ""),
        ({**ONE, "include/next.h": '#include "one.h"\n'}, "include/one.h", "a.c", "#include <next.h>\n", "-Iinclude"),
        ({**TO_DEEP, "src/deep/one.h": ""}, "src/deep/one.h", "src/a.c", '#include "local.h"\n', ""),
        ({"one.h": "before\n"}, "one.h", "a.c", '#include "one.h"\n', ""),
        ({"src/one.h": "", "src/way.h": MACRO}, "src/one.h", "src/a.c", "#include <src/way.h>\n", "-I."),
        (ONE, "include/one.h", "src/a.c", "\n", "-include include/one.h"),
        ({}, "src/a.c", "src/a.c", "before\n", ""),
        ({"README": ""}, "src/new.c", "src/new.c", "", ""),
    ],
    ids=[
        "include path", "quotes", "quotes in a deeper folder", "a neighbour", "a folder beside", "the root of the tree",
        "a macro", "an option", "an edited unit", "a new unit",
    ],
)  # fmt: skip
def test_a_changed_file_is_found_by_all_ways(
    tmp_path: Path, files: dict[str, str], changed: str, unit: str, text: str, options: str
) -> None:
    tree = write_files(tmp_path / "tree", files | ({unit: text} if text else {}))
    (tmp_path / "over").mkdir()
    overlay = lay_out(tmp_path / "over", tree, {changed: b"after\n"}, (unit,))
    assert preprocessed(overlay, unit, *options.split()) == "after"
    assert {name: (tree / name).read_text() for name in files} == files


def test_the_order_of_the_include_path_stays(tmp_path: Path) -> None:
    tree = write_files(
        tmp_path / "tree", {"first/one.h": "first\n", "second/one.h": "second\n", "src/a.c": "#include <one.h>\n"}
    )
    overlay = lay_out(tmp_path / "over", tree, {"second/one.h": b"changed\n"})
    assert preprocessed(overlay, "src/a.c", "-Ifirst", "-Isecond") == "first"
    assert preprocessed(overlay, "src/a.c", "-Isecond", "-Ifirst") == "changed"


def test_only_what_leads_to_a_changed_file_or_is_led_to_lies_beside_it(tmp_path: Path) -> None:
    kept = {
        "include/leads.h": '#include "between.h"\n',
        "include/between.h": '#include "gone.h"\n',
        "include/led_to.h": '#include "last.h"\n',
        "include/last.h": "",
        "include/other.h": '#include "last.h"\n',
        "include/by_path.h": "#include <one.h>\n",
    }
    tree = write_files(tmp_path / "tree", {**kept, "include/gone.h": "", "include/one.h": ""})
    changed = {"include/gone.h": None, "include/one.h": b'#include "led_to.h"\n'}
    lay_out(tmp_path / "over", tree, changed)
    beside = sorted(path.name for path in (tmp_path / "over" / "include").iterdir())
    assert beside == ["between.h", "last.h", "leads.h", "led_to.h", "one.h"]


def test_what_is_read_past_a_change_is_known_by_its_path(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"a/one.h": "", "a/two.h": ""})
    overlay = lay_out(tmp_path / "over", tree, {"a/one.h": b"after\n"})
    assert overlay.stale([f"{overlay.root}/a/one.h", f"{tree}/a/two.h", "/usr/include/stdio.h"]) is None
    assert overlay.stale([f"{tree}/b/../a/one.h"]) == "a/one.h"
    assert overlay.stale(["./a/one.h"]) == "a/one.h"


def test_all_lie_beside_a_changed_file_that_includes_by_a_macro(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"a.c": "", "b.h": "between\n"})
    overlay = lay_out(tmp_path / "over", tree, {"a.c": b'#define B "b.h"\n#include B\n'})
    assert preprocessed(overlay, "a.c") == "between"


def test_paths_that_the_compiler_names_become_those_of_the_tree(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"include/one.h": ""})
    overlay = lay_out(tmp_path / "over", tree, {"include/one.h": b""})
    assert overlay.original(f"{overlay.root}/src/../include/one.h") == "include/one.h"
    assert overlay.original(f"{tree}/include/one.h") == "include/one.h"
    assert overlay.original("/usr/include/stdio.h") == "/usr/include/stdio.h"


def test_what_a_link_out_of_the_tree_includes_is_not_looked_at(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"include/one.h": "", "include/leads.h": '#include "one.h"\n'})
    write_files(tmp_path, {"secret.h": '#include "one.h"\n'})
    (tree / "include/a.h").symlink_to(tmp_path / "secret.h")
    lay_out(tmp_path / "over", tree, {"include/one.h": b"after\n"})
    assert sorted(path.name for path in (tmp_path / "over" / "include").iterdir()) == ["leads.h", "one.h"]
