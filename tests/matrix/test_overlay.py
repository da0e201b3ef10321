# SPDX-License-Identifier: GPL-2.0-or-later
"""Changed files are found in the overlay by every way that leads to them; the matrix in a commit message."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from patch_cases import write_files
from text_cases import TextCase, text_cases

from linesmith.analyzer.model import CompiledRecord, CompiledSize, CompiledUser, ConfigurationCheck, Residual
from linesmith.patches.build.options import Flags
from linesmith.patches.build.overlay import Overlay, lay_out
from linesmith.patches.matrix.evidence import paragraphs, summary


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


# The matrix in a commit message: a table of 75 columns, and what is not as wished

MOVED = ConfigurationCheck(
    ".config",
    "gcc 12.2.0",
    (
        CompiledRecord("s", CompiledSize(80, 8, 2, 0, 0), CompiledSize(80, 8, 2, 0, 0)),
        CompiledRecord("big", CompiledSize(600, 8, 10, 27, 4), CompiledSize(600, 8, 10, 27, 4), holder=True),
    ),
    (Residual("hot", "lock", 64, 7 / 8, 3 / 8), Residual("hot", "lock", 128, 15 / 16, 11 / 16)),
)
GROWN = ConfigurationCheck(
    "arm64 defconfig",
    "aarch64-linux-gnu-gcc 12.2.0",
    (
        CompiledRecord("s", CompiledSize(160, 8, 3, 51, 2), CompiledSize(192, 64, 3, 42, 2), cache="s"),
        CompiledRecord("big", CompiledSize(600, 8, 10, 27, 4), CompiledSize(640, 64, 10, 25, 4), holder=True),
    ),
    (Residual("hot", "lock", 64, 0.75, 0.0), Residual("hot", "tail", 64, 0.0, 1.0)),
)
ABSENT = ConfigurationCheck(
    "s390 defconfig", failed="s390x-linux-gnu-gcc is not installed; install gcc-s390x-linux-gnu"
)


SOUND, FAILING = CompiledUser("fs/a.c"), CompiledUser("fs/b.c", failed="fs/b.c:4: static assertion failed")
WARNING = CompiledUser("fs/c.c", ("fs/c.c:9: unused variable 'x'",))
LEFT_OUT = ("not in this configuration: dax_device",)
CHECKS = {
    "where nothing grows a table and a sentence are enough": (MOVED,),
    "what grows, meets more often or cannot be had is told": (MOVED, GROWN, ABSENT),
    "what is new for users is listed once with its configurations": (
        ConfigurationCheck(".config", users=(SOUND, FAILING)),
        ConfigurationCheck("allnoconfig", users=(FAILING, WARNING)),
    ),
    "what was left out is told once with its configurations": (
        ConfigurationCheck(".config", users=(SOUND,), left_out=LEFT_OUT),
        ConfigurationCheck("allnoconfig", users=(SOUND,), left_out=LEFT_OUT),
    ),
}


@text_cases(Path(__file__).with_name("evidence.txt"))
def test_checks_in_a_message(case: TextCase) -> None:
    checks = CHECKS[case.title]
    assert [summary(checks), "---", *paragraphs(checks, "struct s").splitlines()] == list(case.lines)


def test_lines_of_another_size_are_named_with_the_configurations_that_have_them() -> None:
    size = CompiledSize(600, 8, 5, 0, 0)
    power = ConfigurationCheck("powerpc defconfig", records=(CompiledRecord("s", size, size),), line_bytes=128)
    assert paragraphs((replace(MOVED, residuals=()), power), "struct s").startswith(
        "struct s as compiled before->after: bytes, lines of 64 bytes (128 under\npowerpc defconfig):\n"
    )
    assert paragraphs((power,), "struct s").startswith(
        "struct s as compiled before->after: bytes, lines of 128 bytes:\n"
    )


def test_no_line_is_longer_than_a_message_allows() -> None:
    long = CompiledRecord("x" * 40, CompiledSize(10000, 8, 157, 3, 8), CompiledSize(10064, 8, 158, 3, 8), holder=True)
    checks = (ConfigurationCheck(".config with lockdep", records=(MOVED.records[0], long)),)
    assert max(map(len, paragraphs(checks, "struct s").splitlines())) <= 75
