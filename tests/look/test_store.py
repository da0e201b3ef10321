# SPDX-License-Identifier: GPL-2.0-or-later
"""The index: kept by build-id, shared by processes, rebuilt when it is stale or damaged, never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from c_source import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.base import files
from linesmith.analyzer.layouts import store
from linesmith.analyzer.layouts.dwarf import Reading, read_layouts

SOURCE = "struct pair { int first; long second; } pair; struct pair *held;"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(directory))
    return directory


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return compiled(tmp_path, SOURCE)


def executable(folder: Path, source: str, build_id: str) -> Path:
    """A program whose build-id is chosen, as some builds do."""
    target = folder / "program"
    source_file = folder / "program.c"
    source_file.write_text(source + " int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", f"-Wl,--build-id=0x{build_id}", "-o", target, source_file], check=True)
    return target


def only_index(cache: Path) -> Path:
    (index,) = cache.iterdir()
    return index


def sizes(reading: Reading) -> list[int]:
    return [layout.size for layout in reading.layouts.variants("pair")]


def test_the_second_reading_comes_from_the_index(cache: Path, elf: Path) -> None:
    first, second = read_layouts(elf), read_layouts(elf)
    assert (first.cached, second.cached) == (False, True)
    assert list(first.layouts) == list(second.layouts)
    assert first.layouts.names() == second.layouts.names()
    assert only_index(cache).suffix == ".index"


def test_a_build_id_alone_is_not_believed(cache: Path, tmp_path: Path) -> None:
    """It is what a file says of itself: a copy, another program of the same size, and a larger one share it."""
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    fields = ("int first; int second;", "int third; int fourt;", "int first; int second; int added[4];")
    one, two, grown = (
        executable(folder, f"struct pair {{ {text} }} pair;", "c0ffee00")
        for folder, text in zip(folders, fields, strict=True)
    )
    copy = tmp_path / "copy"
    size = max(one.stat().st_size, two.stat().st_size)
    for program in (one, two):
        program.write_bytes(program.read_bytes().ljust(size, b"\0"))
    copy.write_bytes(one.read_bytes())
    readings = [read_layouts(program) for program in (one, copy, two, grown)]
    assert [reading.cached for reading in readings] == [False] * 4
    members = [[member.name for member in one.layouts.variants("pair")[0].members] for one in readings]
    assert members == [["first", "second"], ["first", "second"], ["third", "fourt"], ["first", "second", "added"]]
    assert [member.name for member in read_layouts(two).layouts.variants("pair")[0].members] == ["third", "fourt"]
    assert {one.name.partition("-")[0] for one in cache.iterdir()} == {"c0ffee00"}


def test_a_build_id_too_long_for_a_file_name_is_shortened(cache: Path, tmp_path: Path) -> None:
    read_layouts(executable(tmp_path, SOURCE, "ab" * 400))
    assert read_layouts(tmp_path / "program").cached
    assert only_index(cache).suffix == ".index"


def test_an_index_of_a_changed_file_or_of_another_format_is_built_again(
    cache: Path, elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_layouts(elf)
    compiled(tmp_path, SOURCE.replace("int first", "long first, more"))
    reading = read_layouts(elf)
    assert (reading.cached, sizes(reading)) == (False, [24])
    assert len(list(cache.iterdir())) == 2
    monkeypatch.setattr(store, "FORMAT", b"linesmith-index0")
    assert [read_layouts(elf).cached for _ in range(2)] == [False, True]
    assert len(list(cache.iterdir())) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(0, 255))
def test_a_flipped_byte_or_a_cut_is_never_believed(cache: Path, elf: Path, place: float, flip: int) -> None:
    """A flip of 0 stands for a cut."""
    expected = list(read_layouts(elf).layouts)
    index = only_index(cache)
    content = bytearray(index.read_bytes())
    at = int(place * len(content))
    content[at] ^= flip
    index.write_bytes(content if flip else content[:at])
    reading = read_layouts(elf)
    assert (reading.cached, list(reading.layouts)) == (False, expected)
    assert read_layouts(elf).cached


def test_a_directory_in_the_way_of_the_cache_is_a_remark(elf: Path, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    reading = read_layouts(elf)
    assert sizes(reading) == [16]
    assert [str(cache) in one for one in reading.remarks] == [True]


def test_a_full_disk_is_said_once_and_leaves_nothing(elf: Path, cache: Path) -> None:
    limited = f"ulimit -f 1; trap '' XFSZ; exec {LINESMITH} layout {elf} pair"
    padding = " ".join(
        f"struct wide{number} {{ long member_{number}[{number + 1}]; }} wide{number};" for number in range(99)
    )
    compiled(elf.parent, SOURCE + padding)
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.count("cannot save the index") == 1
    assert done.stdout.startswith("struct pair {")
    assert list(cache.iterdir()) == []


@pytest.mark.real
def test_an_interrupt_ends_the_reading_with_130_and_leaves_nothing(vmlinux: Path, cache: Path) -> None:
    terminal, errors = os.openpty()
    process = subprocess.Popen([LINESMITH, "index", str(vmlinux)], stderr=errors)
    seen = b""
    while b"reading" not in seen:
        seen += os.read(terminal, 100)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert not cache.exists() or list(cache.iterdir()) == []
    os.close(errors)
    os.close(terminal)


def test_what_a_killed_process_left_is_cleared_once_it_is_old(cache: Path, elf: Path) -> None:
    cache.mkdir()
    old, fresh = cache / f".old{files.UNFINISHED}", cache / f".fresh{files.UNFINISHED}"
    for leftover in (old, fresh):
        leftover.write_text("")
    os.utime(old, (time.time() - 2 * store.LEFTOVER_SECONDS,) * 2)
    read_layouts(elf)
    assert not old.exists()
    assert fresh.exists()


def test_the_least_recently_used_files_go_first(cache: Path, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.mkdir()
    for age, name in enumerate(("oldest.index", "old.access", "recent.index"), 1):
        (cache / name).write_bytes(bytes(1000))
        os.utime(cache / name, (age, age))
    monkeypatch.setattr(store, "MOST_CACHED_BYTES", 1500)
    store.keep(cache, "newest.index", [bytes(500)])
    assert sorted(one.name for one in cache.iterdir()) == ["newest.index", "recent.index"]
    monkeypatch.setattr(store, "MOST_CACHED_BYTES", 1)
    read_layouts(elf)
    assert only_index(cache).name not in ("newest.index", "recent.index")


@pytest.mark.parametrize("change", [{"path": "/other"}, {"size": 1}, {"mtime_ns": 1}, {"core": "another build"}])
def test_an_index_of_other_bytes_or_by_another_core_is_stale(cache: Path, elf: Path, change: dict[str, str]) -> None:
    stamp = read_layouts(elf).layouts.head.stamp
    key = only_index(cache).stem
    assert store.load(cache, key, stamp) is not None
    assert store.load(cache, key, msgspec.structs.replace(stamp, **change)) is None


def test_many_processes_may_build_and_read_one_index(cache: Path, elf: Path) -> None:
    command = [str(LINESMITH), "layout", str(elf), "pair"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    outputs = {process.communicate()[0] for process in running}
    assert len(outputs) == 1
    assert [process.returncode for process in running] == [0] * 8
    assert only_index(cache).suffix == ".index"


def test_a_reader_never_meets_half_an_index_while_another_writes(cache: Path, elf: Path) -> None:
    writer = (
        "import sys; from pathlib import Path; from linesmith.analyzer.base import files; "
        "from linesmith.analyzer.layouts import store; "
        "from linesmith.analyzer.layouts.dwarf import read_layouts; "
        "r = read_layouts(Path(sys.argv[1])); print(flush=True)\n"
        "while True: store.save(files.cache_directory(), sys.argv[2], r.layouts)"
    )
    read_layouts(elf)
    command = [sys.executable, "-c", writer, str(elf), only_index(cache).stem]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert all(read_layouts(elf).cached for _ in range(300))
        finally:
            process.kill()


def test_index_says_whether_there_was_anything_to_do_and_other_commands_say_nothing(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "chosen"
    assert linesmith("index", elf, cache=cache).stdout == f"{elf}: 1 names, read from DWARF\n"
    assert linesmith("index", elf, cache=cache).stdout == f"{elf}: 1 names, up to date\n"
    assert len(list(cache.iterdir())) == 1
    done = linesmith("lint", "--base", elf, "--head", compiled(tmp_path, SOURCE + ";", name="new"), cache=cache)
    assert (done.returncode, done.stderr) == (0, "")
