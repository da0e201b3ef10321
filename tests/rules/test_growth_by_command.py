# SPDX-License-Identifier: GPL-2.0-or-later
"""Growth, holes, straddling and budgets in compiled C, as ``linesmith lint`` tells them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith

KERNEL = "typedef unsigned int u32; typedef unsigned long u64; struct kmem_cache { u32 flags; } cache;\n"
ASKED = """
[[type]]
name = "request"
reason = "measured"
hot = ["window"]

[type.budget]
bytes = 64
"""


def record(name: str, *members: str) -> str:
    """One member a line, so that a test can move one as a patch would."""
    return "\n".join([KERNEL + f"struct {name} {{", *(f"\t{one};" for one in members), f"}} the_{name};\n"])


def linted(folder: Path, old: str, new: str, *options: str | Path, compiler: str = "gcc") -> str:
    files = [compiled(folder, text, compiler=compiler, name=name) for text, name in ((old, "old"), (new, "new"))]
    return linesmith("lint", "--base", files[0], "--head", files[1], *options, cache=folder / "cache").stdout


def moved(source: str, name: str, after: str) -> str:
    """The source with the line that declares ``name`` behind that which declares ``after``."""
    lines = source.splitlines()
    line = next(one for one in lines if one.endswith(f" {name};"))
    lines.remove(line)
    place = next(number for number, one in enumerate(lines) if one.endswith(f" {after};"))
    return "\n".join([*lines[: place + 1], line, *lines[place + 1 :], ""])


BEFORE = record("request", "u64 next", "u32 state", "u32 tag", "u64 window[6]")
HOLED = record("request", "u64 next", "u32 state", "u64 window[6]", "u32 flags")


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_move_that_is_advised_gives_the_size_that_is_promised(tmp_path: Path, compiler: str) -> None:
    told = linted(tmp_path, BEFORE, HOLED, "--type", "request", compiler=compiler)
    found = re.search(r"(\w+) behind (\w+) would make it (\d+) bytes instead of 72 and 1 of 2 cache lines", told)
    assert found is not None, told
    promised = f'_Static_assert(sizeof(struct request) == {found[3]}, "");\n'
    after = moved(HOLED, found[1], found[2]) + promised
    assert "avoidable-hole" not in linted(tmp_path, BEFORE, after, "--type", "request", compiler=compiler)


def test_a_record_of_a_known_cache_is_told_without_being_named_and_a_program_has_no_cache(tmp_path: Path) -> None:
    old, new = record("vmap_area", "u64 words[8]"), record("vmap_area", "u64 words[8]", "u64 flags")
    where, advice = linted(tmp_path, old, new).splitlines()[:2]
    assert where.startswith(
        "new.c:2: WARNING: struct vmap_area: grew from 64 to 72 bytes: a slab of vmap_area holds 56 "
    )
    assert advice == "    what grew: flags (8 bytes)"
    program = [text.replace("struct kmem_cache { u32 flags; } cache;", "") for text in (old, new)]
    assert linted(tmp_path, *program).startswith("no violations in 1 record")


def test_intents_name_what_may_not_straddle_and_how_large_a_record_may_be(tmp_path: Path) -> None:
    (tmp_path / "wanted.toml").write_text(ASKED)
    old, new = (record("request", f"u64 first[{count}]", "struct { u64 low, high; } window") for count in (6, 7))
    told = linted(tmp_path, old, new, "--intent", tmp_path / "wanted.toml")
    assert re.search(r"new.c.*window lies across two lines, at bytes 56 to 71, it was at 48", told)
    assert re.search(r"new.c.*has 72 bytes where the budget is 64 \(.*wanted.toml:2\)", told)
    alone = linesmith("lint", tmp_path / "new.o", "--intent", tmp_path / "wanted.toml", cache=tmp_path / "cache")
    assert sorted(re.findall(r"\[([\w-]+)\]$", alone.stdout, re.MULTILINE)) == ["budget-exceeded", "straddle"]
