# SPDX-License-Identifier: GPL-2.0-or-later
"""Changed files are found in the overlay by every way that leads to them; the tree is not touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from patch_cases import write_files

from linesmith.patches.flags import Flags
from linesmith.patches.overlay import Overlay, lay_out


def preprocessed(overlay: Overlay, unit: str, *options: str) -> str:
    """What remains of the unit behind the preprocessor, without line marks."""
    flags = Flags("gcc", options, overlay.tree)
    argv = ("gcc", "-E", "-P", *overlay.options(flags), *overlay.quoted((unit,)), str(overlay.unit(unit)))
    done = subprocess.run(argv, cwd=overlay.tree, check=True, capture_output=True, text=True, timeout=300)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("src/by_path.c", "#include <one.h>\n"),
        ("src/by_quotes.c", '#include "../include/one.h"\n'),
        ("src/through_neighbour.c", "#include <beside.h>\n"),
        ("src/deep/by_quotes.c", '#include "../../include/one.h"\n'),
    ],
)
def test_a_changed_file_is_found_by_all_ways(tmp_path: Path, unit: str, text: str) -> None:
    tree = write_files(
        tmp_path / "tree", {"include/one.h": "before\n", "include/beside.h": '#include "one.h"\n', unit: text}
    )
    overlay = lay_out(tmp_path / "over", tree, {"include/one.h": b"after\n"}, (unit,))
    assert preprocessed(overlay, unit, "-Iinclude") == "after"
    assert (tree / "include/one.h").read_text() == "before\n"


def test_folders_around_a_changed_file_are_images_too(tmp_path: Path) -> None:
    tree = write_files(
        tmp_path / "tree",
        {"src/deep/one.h": "before\n", "src/a.c": '#include "local.h"\n', "src/local.h": '#include "deep/one.h"\n'},
    )
    overlay = lay_out(tmp_path / "over", tree, {"src/deep/one.h": b"after\n"}, ("src/a.c",))
    assert preprocessed(overlay, "src/a.c") == "after"


def test_units_at_the_root_of_the_tree_are_found(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"one.h": "before\n", "a.c": '#include "one.h"\n'})
    root = tmp_path / "over"
    root.mkdir()
    assert preprocessed(lay_out(root, tree, {"one.h": b"after\n"}, ("a.c",)), "a.c") == "after"


def test_the_order_of_the_include_path_stays(tmp_path: Path) -> None:
    tree = write_files(
        tmp_path / "tree", {"first/one.h": "first\n", "second/one.h": "second\n", "src/a.c": "#include <one.h>\n"}
    )
    overlay = lay_out(tmp_path / "over", tree, {"second/one.h": b"changed\n"})
    assert preprocessed(overlay, "src/a.c", "-Ifirst", "-Isecond") == "first"
    assert preprocessed(overlay, "src/a.c", "-Isecond", "-Ifirst") == "changed"


def test_a_file_included_by_option_is_the_changed_one(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"include/forced.h": "before\n", "src/a.c": "unit\n"})
    overlay = lay_out(tmp_path / "over", tree, {"include/forced.h": b"after\n"})
    assert preprocessed(overlay, "src/a.c", "-include", "include/forced.h").split() == ["after", "unit"]


def test_an_edited_unit_is_compiled_as_edited_and_a_new_one_too(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"src/a.c": "before\n"})
    overlay = lay_out(tmp_path / "over", tree, {"src/a.c": b"after\n", "src/new.c": b"new\n"})
    assert [preprocessed(overlay, unit) for unit in ("src/a.c", "src/new.c")] == ["after", "new"]


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


def test_a_neighbour_that_includes_by_a_macro_lies_beside_what_it_may_name(tmp_path: Path) -> None:
    macro = '#define OWN "one.h"\n#include OWN\n'
    tree = write_files(
        tmp_path / "tree", {"src/one.h": "before\n", "src/way.h": macro, "src/a.c": "#include <src/way.h>\n"}
    )
    overlay = lay_out(tmp_path / "over", tree, {"src/one.h": b"after\n"}, ("src/a.c",))
    assert preprocessed(overlay, "src/a.c", "-I.") == "after"


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
