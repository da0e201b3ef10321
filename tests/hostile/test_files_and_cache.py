# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that linesmith replaces: links, permissions, no regular files; and whose cache directory is used."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from lint_commits import repository

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import CacheError
from linesmith.analyzer.base.files import cache_directory

OTHER_USER = 12345


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_file_gets_its_new_content_and_who_has_the_old_one_open_reads_it_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "result").write_bytes(b"old, and longer")
    with (tmp_path / "result").open("rb") as file:
        files.replace_file(tmp_path / "result", b"new")
        assert file.read() == b"old, and longer"
    assert (tmp_path / "result").read_bytes() == b"new"
    assert names(tmp_path) == ["result"]


def test_an_interrupt_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    def interrupted() -> Iterator[bytes]:
        yield b"begun"
        raise KeyboardInterrupt

    (tmp_path / "result").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        files.replace_by_parts(tmp_path / "result", interrupted())
    assert (tmp_path / "result").read_bytes() == b"old"
    assert names(tmp_path) == ["result"]


def test_a_file_keeps_its_permissions_and_a_new_one_has_those_that_the_umask_leaves(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o604)
    before = os.umask(0o027)
    try:
        for name in ("old", "new"):
            files.replace_file(tmp_path / name, b"new")
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o7777 for name in ("old", "new")] == [0o604, 0o640]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_keeps_its_owner_where_root_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "result").write_bytes(b"old")
    os.chown(tmp_path / "result", OTHER_USER, OTHER_USER)
    files.replace_file(tmp_path / "result", b"new")
    assert (tmp_path / "result").stat().st_uid == OTHER_USER


@pytest.mark.parametrize("there", [True, False])
def test_links_stay_and_the_file_that_they_lead_to_is_replaced_or_made(tmp_path: Path, there: bool) -> None:
    (tmp_path / "there").mkdir()
    if there:
        (tmp_path / "there" / "target").write_bytes(b"old")
    (tmp_path / "second").symlink_to("there/target")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    files.replace_file(tmp_path / "first", b"new")
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "there" / "target").read_bytes() == b"new"
    assert names(tmp_path / "there") == ["target"]


def test_a_folder_and_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        files.replace_file(tmp_path / "folder", b"new")
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="Too many levels"):
        files.replace_file(tmp_path / "one", b"new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the link of another user")
def test_a_link_of_another_user_in_a_folder_for_all_is_not_followed(tmp_path: Path) -> None:
    shared, owned = tmp_path / "shared", tmp_path / "owned"
    shared.mkdir()
    shared.chmod(0o1777)
    owned.write_bytes(b"old")
    (shared / "result").symlink_to(owned)
    os.chown(shared / "result", OTHER_USER, OTHER_USER, follow_symlinks=False)
    with pytest.raises(PermissionError, match="another user"):
        files.replace_file(shared / "result", b"new")
    assert owned.read_bytes() == b"old"


def test_a_pipe_with_a_name_is_written_to(tmp_path: Path) -> None:
    read: list[bytes] = []
    os.mkfifo(tmp_path / "pipe")
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    files.replace_file(tmp_path / "pipe", b"new")
    reader.join()
    assert read == [b"new"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_device_is_written_to_and_one_without_room_is_an_error_that_names_it() -> None:
    files.replace_file(Path("/dev/null"), b"new")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        files.replace_file(Path("/dev/full"), b"new")


def test_standard_output_in_a_file_goes_on_where_others_wrote(tmp_path: Path) -> None:
    writer = (
        "import os; from pathlib import Path; from linesmith.analyzer.base import files; "
        "os.write(1, b'before '); files.replace_file(Path('/dev/stdout'), b'ours '); os.write(1, b'behind')"
    )
    with (tmp_path / "all").open("wb") as file:
        subprocess.run([sys.executable, "-c", writer], stdout=file, check=True)
    assert (tmp_path / "all").read_bytes() == b"before ours behind"


def test_the_longest_name_that_a_file_may_have_can_be_written(tmp_path: Path) -> None:
    files.replace_file(tmp_path / ("\N{GRINNING FACE}" * 63), b"new")
    assert len(names(tmp_path)) == 1


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


def another_user_s(cache: Path) -> None:
    cache.mkdir()
    os.chown(cache, OTHER_USER, OTHER_USER)


def another_user_s_link(cache: Path) -> None:
    (cache.parent / "our own").mkdir()
    cache.symlink_to("our own")
    os.chown(cache, OTHER_USER, OTHER_USER, follow_symlinks=False)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        pytest.param(
            another_user_s, f"belongs to another user .uid {OTHER_USER}.; set LINESMITH_CACHE_DIR", marks=as_root
        ),
        pytest.param(another_user_s_link, "belongs to another user", marks=as_root),
        (Path.touch, r"cannot be used \(Not a directory\); set LINESMITH_CACHE_DIR to a directory"),
    ],
)
def test_what_is_no_cache_directory_of_ours_is_refused(cache: Path, make: Callable[[Path], None], why: str) -> None:
    make(cache)
    with pytest.raises(CacheError, match=f"{cache} {why}"):
        cache_directory()


def test_a_link_of_our_own_is_followed_to_a_directory_of_our_own(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    cache.symlink_to("large disk")
    assert cache_directory() == cache
    assert mode(tmp_path / "large disk") == 0o700
    (tmp_path / "large disk").chmod(0o777)
    with pytest.raises(CacheError, match="others can write"):
        cache_directory()


def test_a_link_above_the_cache_directory_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "usr").mkdir()
    (tmp_path / "home").symlink_to("usr")
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "home" / "cache"))
    cache_directory()
    assert mode(tmp_path / "usr" / "cache") == 0o700


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
