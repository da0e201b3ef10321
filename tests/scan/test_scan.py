# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole scans of small programs: what is found, what is parsed again, and units that cannot be parsed."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import stamps, write_files
from scan.trees import program_tree

from linesmith.analyzer.base.errors import ScanFailed
from linesmith.analyzer.model import SourceScan
from linesmith.patches.scan.scan import Watch, scanned

HEADER = """struct box {
	int width;
	int height;
};
static inline int area(const struct box *b) { return b->width * b->height; }
"""
FILES = {
    "include/box.h": HEADER,
    "a.c": "#include <box.h>\nstruct box unit = { 1, 1 };\n",
    "b.c": "#include <box.h>\nint wide(struct box *b) { return b->width; }\n",
}


class Run:
    """A tree that is scanned again and again; ``parsed`` counts the units of the last scan that were parsed."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.parsed = 0

    def scan(self) -> SourceScan:
        self.parsed = 0

        def count(done: int, _total: int) -> None:
            self.parsed = done

        (found,) = scanned(self.tree, None, ["box"], Watch(count, lambda _remark: None))
        return found


@pytest.fixture
def run(parser: Path, tmp_path: Path) -> Run:  # noqa: ARG001 - sets the environment
    return Run(program_tree(tmp_path / "tree", FILES))


def test_declaration_dependencies_and_uses_are_found(run: Run) -> None:
    found = run.scan()
    (source,) = found.sources
    assert (source.span.file, source.span.line, [one.name for one in source.members]) == (
        "include/box.h",
        1,
        ["width", "height"],
    )
    assert [(one.kind.value, one.members, one.place, one.text) for one in found.dependencies] == [
        ("positional initialiser", ("width", "height"), "a.c:2", "struct box unit = { 1, 1 };")
    ]
    uses = {(one.member, one.kind.value, one.place, one.function) for one in found.uses}
    assert ("width", "read", "b.c:2", "wide") in uses
    assert ("height", "read", "include/box.h:5", "area") in uses


def test_a_second_scan_parses_nothing_and_says_the_same(run: Run, tmp_path: Path) -> None:
    before = stamps(run.tree)
    first = run.scan()
    assert run.parsed == 2
    assert stamps(run.tree) == before, "the tree stays as it is"
    assert run.scan() == first
    assert run.parsed == 0
    for path in (tmp_path / "cache").glob("*.scan"):
        path.write_bytes(path.read_bytes()[:-10])
    assert run.scan() == first, "what a killed scan left is cut off"
    assert run.parsed == 1


def test_what_changed_is_parsed_again(run: Run) -> None:
    """A unit alone, a header with all that include it, and all where an option changes."""
    run.scan()
    (run.tree / "b.c").write_text("#include <box.h>\nint high(struct box *b) { return b->height; }\n")
    found = run.scan()
    assert run.parsed == 1
    assert {one.function for one in found.uses} == {"high", "area"}
    (run.tree / "include/box.h").write_text(HEADER.replace("height;", "height, depth;", 1))
    found = run.scan()
    assert run.parsed == 2
    assert [one.name for one in found.sources[0].members] == ["width", "height", "depth"]
    program_tree(run.tree, FILES, "-I include -DNDEBUG")
    run.scan()
    assert run.parsed == 2


def test_of_what_units_see_of_a_record_the_most_counts(run: Run) -> None:
    header = HEADER.replace("\tint height;\n", "\tint height;\n#ifdef DEEP\n\tint depth;\n#endif\n")
    for units in ("ab", "ba"):
        texts = {f"{name}.c": f"#include <box.h>\nstruct box *{name};\n" for name in units}
        texts[f"{units[0]}.c"] = "#define DEEP\n" + texts[f"{units[0]}.c"]
        program_tree(run.tree, {"include/box.h": header, **texts})
        assert [one.name for one in run.scan().sources[0].members] == ["width", "height", "depth"]


def test_the_cache_does_not_grow_with_every_change(run: Run, tmp_path: Path) -> None:
    for turn in range(12):
        (run.tree / "include/box.h").write_text(f"{HEADER}/* {turn} */\n")
        found = run.scan()
    (kept,) = (tmp_path / "cache").glob("*.scan")
    assert len(kept.read_bytes().splitlines()) < 15
    assert run.scan() == found
    assert run.parsed == 0


def test_a_unit_with_errors_is_named_and_the_others_count(run: Run) -> None:
    program_tree(run.tree, {**FILES, "broken.c": "#include <box.h>\n#include <nowhere.h>\nstruct box b = { 1, 2 };\n"})
    found = run.scan()
    assert [unit for unit, _ in found.failed] == ["broken.c"]
    assert "nowhere.h" in found.failed[0][1]
    assert "a.c:2" in [one.place for one in found.dependencies]


DIES = """#!/bin/sh
# Ends on a.c; of other units it says that there is nothing.
while read -r line; do
    case "$line" in
        *'a.c"'*) kill -9 $$ ;;
        *) echo '{"unit": "b.c", "includes": ["/dev/null"]}' ;;
    esac
done
"""


def test_a_unit_that_kills_the_program_costs_itself_only(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write_files(tmp_path, {"dies": DIES, "ends": "#!/bin/sh\nread -r line\n"})
    for name in ("dies", "ends"):
        (program / name).chmod(0o755)
    monkeypatch.setenv("LINESMITH_SOURCE_SCAN", str(program / "dies"))
    found = run.scan()
    assert (found.failed, found.units) == ((("a.c", "the program that parses it ended"),), 1)
    monkeypatch.setenv("LINESMITH_SOURCE_SCAN", str(program / "ends"))
    with pytest.raises(ScanFailed, match="none of the 2 units that use box can be parsed"):
        run.scan()
