# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose cache directory is used, and that nobody else reads or writes what is in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from lint_commits import repository

from linesmith.analyzer.base.errors import CacheError
from linesmith.analyzer.base.files import cache_directory

OTHER_USER = 12345
SOURCE = "struct pair { long left, right; } pair; int main(void) { return 0; }"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the cache directory is to be; nothing is there."""
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_a_cache_directory_is_for_its_user_alone(cache: Path) -> None:
    before = os.umask(0)
    try:
        assert cache_directory("revisions") == cache / "revisions"
    finally:
        os.umask(before)
    assert (mode(cache), mode(cache / "revisions")) == (0o700, 0o700)
    cache.chmod(0o755)
    cache_directory()
    assert mode(cache) == 0o700, "that others could read is closed to them"


@pytest.mark.parametrize("given", [0o777, 0o775, 0o707, 0o1777])
def test_a_cache_directory_that_others_can_write_to_is_refused(cache: Path, given: int) -> None:
    cache_directory("trees")
    cache.chmod(given)
    with pytest.raises(CacheError) as refused:
        cache_directory()
    assert str(refused.value) == (
        f"others can write to the cache directory {cache}, so its contents cannot be trusted; remove its contents"
        f" and run chmod 700 {cache}, or set LINESMITH_CACHE_DIR to another directory"
    )
    assert mode(cache) == given
    cache.chmod(0o700)
    (cache / "trees").chmod(given)
    with pytest.raises(CacheError, match=f"others can write to the cache directory {cache}/trees"):
        cache_directory("trees")


@as_root
def test_the_cache_directory_of_another_user_is_refused(cache: Path) -> None:
    cache.mkdir()
    os.chown(cache, OTHER_USER, OTHER_USER)
    with pytest.raises(
        CacheError, match=f"{cache} belongs to another user .uid {OTHER_USER}.; set LINESMITH_CACHE_DIR"
    ):
        cache_directory()


def test_a_link_of_our_own_is_followed_to_a_directory_of_our_own(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    cache.symlink_to("large disk")
    assert cache_directory() == cache
    assert mode(tmp_path / "large disk") == 0o700
    (tmp_path / "large disk").chmod(0o777)
    with pytest.raises(CacheError, match="others can write"):
        cache_directory()


@as_root
def test_a_link_that_another_user_made_is_refused(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "our own").mkdir()
    cache.symlink_to("our own")
    os.chown(cache, OTHER_USER, OTHER_USER, follow_symlinks=False)
    with pytest.raises(CacheError, match=f"the link {cache} belongs to another user"):
        cache_directory()


def test_a_link_above_the_cache_directory_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "usr").mkdir()
    (tmp_path / "home").symlink_to("usr")
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "home" / "cache"))
    cache_directory()
    assert mode(tmp_path / "usr" / "cache") == 0o700


def test_a_file_in_its_place_is_refused(cache: Path) -> None:
    cache.touch()
    with pytest.raises(CacheError, match=r"cannot be used \(Not a directory\); set LINESMITH_CACHE_DIR to a directory"):
        cache_directory()


def test_an_index_that_another_could_have_put_there_is_not_believed(tmp_path: Path) -> None:
    elf, cache = compiled(tmp_path, SOURCE), tmp_path / "cache"
    linesmith("layout", elf, "pair", cache=cache)
    (index,) = cache.iterdir()
    assert mode(index) == 0o600
    before = index.read_bytes()
    cache.chmod(0o777)
    done = linesmith("layout", elf, "pair", cache=cache)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "struct pair {")
    assert "cannot save the index, so the next run reads everything again: others can write" in done.stderr
    assert index.read_bytes() == before


def lint_of_revisions(tmp_path: Path) -> tuple[str | Path, ...]:
    made = repository(tmp_path / "tree")
    old = made.commit({"pair.h": "struct pair { long left, right; };\n"})
    new = made.commit({"pair.h": "struct pair { long right, left; };\n"}, old)
    return "lint", "--tree", made.root, "--base-ref", old, "--head-ref", new


def test_the_sources_that_a_lint_copies_are_for_its_user_alone(tmp_path: Path) -> None:
    done = linesmith(*lint_of_revisions(tmp_path), cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    (copied,) = (tmp_path / "cache").glob("revisions/*/tree/pair.h")
    assert copied.read_text() == "struct pair { long left, right; };\n"
    assert (mode(tmp_path / "cache"), mode(tmp_path / "cache" / "revisions")) == (0o700, 0o700)


def test_a_lint_copies_no_sources_to_where_others_can_change_them(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    done = linesmith(*lint_of_revisions(tmp_path), cache=tmp_path / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"linesmith: others can write to the cache directory {tmp_path / 'cache'}, so ")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "cache").iterdir()) == []


def test_doctor_says_what_is_wrong_with_the_cache(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    done = linesmith("doctor", cache=tmp_path / "cache")
    assert "others can write to the cache directory" in " ".join(done.stdout.split())
