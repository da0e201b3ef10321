# SPDX-License-Identifier: GPL-2.0-or-later
"""What text alone shows of a record, in a tree that is read once, and what each dependency means for proposals."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from patch_cases import write_files
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
    """The names of files that were read."""
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


def test_a_file_that_may_have_changed_during_the_search_is_read_again(
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
def test_a_dependency_that_binds_is_a_fact(
    kind: DependencyKind, members: str, bytes_: int | None, expected: Fact
) -> None:
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
