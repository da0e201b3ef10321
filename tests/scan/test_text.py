# SPDX-License-Identifier: GPL-2.0-or-later
"""What text alone shows of a record, in a tree that is read once, and what each dependency means for proposals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from linesmith_command import LINESMITH, linesmith
from patch_cases import write_files
from scan.trees import kernel_tree, program_tree, recorded
from text_cases import text_rows

from linesmith.analyzer.model import Dependency, DependencyKind, MemberSource, RecordSource, SourceScan, SourceSpan
from linesmith.patches.scan import cache as stamped
from linesmith.patches.scan import text_scan
from linesmith.patches.scan.scan import facts_of
from linesmith.patches.scan.text_scan import RecordText, TextPlace, text_places
from linesmith.patches.source.tree import source_bytes


@text_rows(Path(__file__).with_name("cases") / "text_places.txt")
def test_text_that_relies_on_the_order(source: str, expected: list[str]) -> None:
    file, _, text = source.partition("\n")
    places = RecordText("rec").places(file, text.encode()).places
    assert [said(one) for one in places] == ([] if expected == ["nothing"] else expected)


def said(place: TextPlace) -> str:
    """The kind, the members, and how many values are given by position."""
    members = f": {' '.join(place.members)}" if place.members else ""
    return f"{place.kind.value}{members}{f' ({place.given} values)' if place.given else ''}"


# A tree is looked through once; later only what changed since

GIVEN = "struct rec r = { 1 };"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, in which a file that has just been written counts as read."""
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(stamped, "_SLACK_NS", 0)
    return tmp_path / "cache"


@pytest.fixture
def read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:  # noqa: ARG001 - the cache must be there first
    names: list[str] = []

    def watched(root: Path, file: str, most: int) -> bytes | None:
        names.append(Path(file).name)
        return source_bytes(root, file, most)

    monkeypatch.setattr(text_scan, "source_bytes", watched)
    return names


def lines(tree: Path) -> dict[str, list[int]]:
    found = text_places(tree, ["rec"], lambda _remark: None)["rec"]
    return {file: [one.line for one in places.places] for file, places in found.items()}


def test_a_second_look_reads_only_what_changed(tmp_path: Path, read: list[str]) -> None:
    tree = write_files(tmp_path / "tree", {"a.c": GIVEN, "one/b.c": f"\n{GIVEN}", "c.c": "int x;"})
    assert lines(tree) == {"a.c": [1], "one/b.c": [2]}
    assert sorted(read) == ["a.c", "b.c", "c.c"]
    read.clear()
    (tree / "c.c").write_text(f"\n\n{GIVEN}")
    assert lines(tree) == {"a.c": [1], "one/b.c": [2], "c.c": [3]}
    assert read == ["c.c"]
    read.clear()
    (tree / "one").rename(tree / "two")
    (tree / "a.c").unlink()
    assert lines(tree) == {"two/b.c": [2], "c.c": [3]}
    assert read == ["b.c"]


def test_a_file_that_may_have_changed_is_read_again(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write_files(tmp_path / "tree", {"a.c": GIVEN})
    monkeypatch.setattr(stamped, "_SLACK_NS", 3600 * 10**9)
    assert lines(tree) == lines(tree) == {"a.c": [1]}
    assert read == ["a.c", "a.c"]


@pytest.mark.usefixtures("cache")
def test_a_file_with_an_old_date_is_read_all_the_same(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"a.c": "int x;"})
    assert lines(tree) == {}
    (tree / "a.c").write_text(GIVEN)
    os.utime(tree / "a.c", (0, 0))
    assert lines(tree) == {"a.c": [1]}


@pytest.mark.usefixtures("cache")
def test_another_tree_at_the_same_place_is_read(tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"a.c": GIVEN})
    tree = write_files(tmp_path / "tree", {"a.c": "int x;"})
    assert lines(tree) == {}
    tree.rename(tmp_path / "gone")
    other.rename(tree)
    assert lines(tree) == {"a.c": [1]}


@pytest.mark.usefixtures("cache")
def test_a_name_that_is_no_utf8_is_seen_each_time(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.c")
    tree = write_files(tmp_path / "tree", {name: GIVEN})
    assert lines(tree) == lines(tree) == {name: [1]}


def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path, cache: Path) -> None:
    tree = write_files(tmp_path / "tree", {"a.c": GIVEN})
    lines(tree)
    for path in cache.glob("*.places"):
        path.write_bytes(path.read_bytes()[:-3])
    assert lines(tree) == {"a.c": [1]}


@pytest.mark.usefixtures("cache")
def test_a_link_out_of_the_tree_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.h").write_text(GIVEN)
    tree = write_files(tmp_path / "tree", {"b.c": GIVEN})
    (tree / "a.h").symlink_to(tmp_path / "secret.h")
    assert lines(tree) == {"b.c": [1]}


# What a dependency means

SPAN = SourceSpan("rec.h", 0, 9, 1)
MEMBERS = tuple(MemberSource(name, SPAN) for name in "abcde")
Fact = tuple[str, str, int | None]


def facts(one: Dependency) -> list[Fact]:
    scan = SourceScan("rec", (RecordSource("rec", SPAN, MEMBERS),), (one,), (), 1)
    return [(fact.kind.value, " ".join(fact.members), fact.bytes) for fact in facts_of([scan]).of("rec")]


@pytest.mark.parametrize(
    ("kind", "members", "bytes_", "expected"),
    [
        (DependencyKind.POSITIONAL, "abc", None, ("positional", "a b c", None)),
        (DependencyKind.ASSERTION, "b", 8, ("offset", "b", None)),
        (DependencyKind.ASSERTION, "", 64, ("size", "", 64)),
        (DependencyKind.FIRST_MEMBER_CAST, "a", None, ("first", "a", None)),
        (DependencyKind.CONTAINER_OF_FIRST, "a", None, ("first", "a", None)),
        (DependencyKind.OFFSET_RANGE, "bcd", None, ("range", "b c d", None)),
        (DependencyKind.PARTIAL_COPY, "ab", None, ("wall", "c", None)),
        (DependencyKind.PARTIAL_COPY, "de", None, ("wall", "d", None)),
        (DependencyKind.PARTIAL_COPY, "c", None, ("wall", "c", None)),
        (DependencyKind.USER_ABI, "", None, ("offset", "a b c d e", None)),
    ],
)
def test_what_binds_is_a_fact(kind: DependencyKind, members: str, bytes_: int | None, expected: Fact) -> None:
    assert facts(Dependency(kind, "rec", tuple(members), "x.c:1", bytes=bytes_)) == [expected]


@pytest.mark.parametrize("kind", [DependencyKind.OFFSETOF, DependencyKind.ASM_OFFSET, DependencyKind.BPF_CORE])
def test_what_the_compiler_works_out_anew_is_none(kind: DependencyKind) -> None:
    assert facts(Dependency(kind, "rec", ("b",), "x.c:1", binds=False)) == []


def test_a_randomised_layout_is_a_fact_though_it_does_not_bind() -> None:
    randomised = Dependency(DependencyKind.RANDOMIZED, "rec", (), "x.c:1", binds=False)
    assert facts(randomised) == [("randomized", "", None)]


def test_assertions_about_a_cacheline_group_are_left_to_the_rules_of_groups() -> None:
    members = ("__cacheline_group_begin__rx", "b")
    assert facts(Dependency(DependencyKind.ASSERTION, "rec", members, "x.c:1")) == []


# ``linesmith layout --tree`` as a user sees it

SOURCES = Path(__file__).with_name("sources")
TEXT = (SOURCES / "box.c").read_text()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of one file; its object lies beside it."""
    made = program_tree(tmp_path / "tree", {"box.c": TEXT})
    subprocess.run(["gcc", "-g", "-c", "-o", tmp_path / "box.o", "box.c"], check=True, cwd=made)
    return made


def source_of(tree: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """The layout of the record in the object beside the tree, with what the tree says."""
    return linesmith("layout", tree.parent / "box.o", "box", *options)


@pytest.mark.usefixtures("parser")
def test_the_source_is_shown_behind_the_layout(tree: Path) -> None:
    done = source_of(tree, "--tree", tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout.partition("\nsource of ")[2]
        == """\
box: 1 unit parsed
  declared at box.c:1
      line    uses  member
         2       1  width
         3       1  height  (declared with depth)
         3       0  depth  (declared with height)
  2 places where the order is relied upon
    box.c:5: positional initialiser of width, height
        struct box unit = { 1, 1 };
    box.c:7: static assertion of height == 4
        _Static_assert(__builtin_offsetof(struct box, height) == 4, "");
"""
    )
    (source,) = json.loads(source_of(tree, "--tree", tree, "--format", "json").stdout)["sources"]
    assert [(one["kind"], one["members"], one["binds"]) for one in source["dependencies"]] == [
        ("positional initialiser", ["width", "height"], True),
        ("static assertion", ["height"], True),
    ]


@pytest.mark.usefixtures("parser")
def test_a_kernel_that_was_configured_but_never_built_shows_nothing(tree: Path, tmp_path: Path) -> None:
    """Its own programs are all that is compiled; that none of them relies on the order says nothing."""
    kernel = kernel_tree(tmp_path / "linux", {"include/box.h": TEXT, "scripts/kconfig/conf.c": "int main(void) {}"})
    recorded(kernel, "scripts/kconfig/conf.o", kernel / "scripts/kconfig/conf.c", "gcc -c -o conf.o conf.c")
    assert (
        source_of(tree, "--tree", kernel).stdout.partition("\nsource of ")[2]
        == """\
box: the build at hand compiled no unit that uses it; only text was searched
  build the tree once, or name its build with --build: then it is known what relies on the order
"""
    )


@pytest.mark.usefixtures("parser")
def test_a_tree_without_a_database_or_a_name_is_one_sentence(tree: Path, tmp_path: Path) -> None:
    done = source_of(tree, "--build", tmp_path)
    assert done.returncode == 2
    assert "--build needs the sources of the build; give --tree as well" in done.stderr
    (tree / "compile_commands.json").unlink()
    done = source_of(tree, "--tree", tree)
    assert done.returncode == 2
    assert f"{tree} has no compile_commands.json; let cmake, meson or bear write it" in done.stderr


def command_of(process: str) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:  # it has ended since it was listed
        return ""


def test_the_children_end_with_a_killed_scan(parser: Path, tree: Path, tmp_path: Path) -> None:
    sleeper = tmp_path / "sleeps"
    sleeper.write_text(f"#!/bin/sh\n# {parser.name}\nexec sleep 300\n")
    sleeper.chmod(0o755)
    process = subprocess.Popen(
        [LINESMITH, "layout", tmp_path / "box.o", "box", "--tree", tree],
        env={"LINESMITH_SOURCE_SCAN": str(sleeper), "PATH": "/usr/bin:/bin"},
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not any("sleep 300" in command_of(child) for child in children.read_text().split()):
        time.sleep(0.05)
    (child,) = children.read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    while Path(f"/proc/{child}").exists():
        time.sleep(0.05)


@pytest.fixture
def asserting(example: Path, tmp_path: Path) -> Path:
    """The tree of the example, of which one file asserts where the guard is."""
    tree = Path(shutil.copytree(example, tmp_path / "sources"))
    source = next(path for path in sorted(tree.glob("*.c")) if "session_index.h" in path.read_text())
    asserted = '\n_Static_assert(__builtin_offsetof(struct session_index, guard) == 16, "");\n'
    source.write_text(source.read_text() + asserted)
    entry = {"directory": str(tree), "file": source.name, "command": f"cc -c {source.name}"}
    (tree / "compile_commands.json").write_text(json.dumps([entry]))
    return tree


@pytest.mark.usefixtures("parser")
def test_hot_shows_nothing_of_what_suggest_says_with_a_tree(example: Path, asserting: Path) -> None:
    def hot(**variables: str) -> object:
        words = "hot", example / "bench", example / "bench.c2c", "--format", "json"
        (record,) = json.loads(linesmith(*words, env={**os.environ, **variables}).stdout)["records"]
        return record["suggested"] and record["suggested"]["what"]

    def suggest(**variables: str) -> object:
        words = "suggest", example / "bench", example / "bench.c2c", "--format", "json"
        document = json.loads(linesmith(*words, env={**os.environ, **variables}).stdout)
        return document["records"][0]["changes"][0]["what"]

    free, tree = suggest(), {"LINESMITH_TREE": str(asserting)}
    assert (hot(), hot(**tree)) == (free, None)
    assert suggest(**tree) != free
    assert (hot(), hot(**tree)) == (free, None), "any file of a tree may have changed since"


@pytest.mark.usefixtures("parser")
def test_suggest_keeps_to_what_the_code_asserts(example: Path, asserting: Path) -> None:
    words = ("suggest", example / "bench", example / "bench.c2c", "--type", "session_index", "--format", "json")
    free, bound = (json.loads(linesmith(*words, *more).stdout) for more in ((), ("--tree", asserting)))
    assert offsets_of_guard(free) - {16}
    assert offsets_of_guard(bound) == {16}
    told = "What the code relies on was looked for in 1 unit and in the text of the tree, and is kept to."
    assert all(told in one["notes"] for one in bound["candidates"])


def offsets_of_guard(document: dict[str, Any]) -> set[int]:
    """Where the candidates put the member, in bytes."""
    members = (member for one in document["candidates"] for member in one["after"]["members"])
    return {member["offset"] for member in members if member["name"] == "guard"}


def test_a_tree_that_is_set_for_all_commands_need_not_be_the_programs(example: Path, tmp_path: Path) -> None:
    words = "suggest", example / "bench", example / "bench.c2c"
    done = linesmith(*words, env={**os.environ, "LINESMITH_TREE": str(tmp_path)})
    assert done.returncode == 0
    assert done.stderr.startswith(f"linesmith: not scanned for code that relies on the member order: {tmp_path} has")
    assert linesmith(*words, "--tree", tmp_path).returncode == 2
