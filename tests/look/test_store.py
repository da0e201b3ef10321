# SPDX-License-Identifier: GPL-2.0-or-later
"""The index: kept by build-id, shared by processes, rebuilt when it is stale or damaged, never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate, pairwise
from pathlib import Path

import msgspec
import pytest
from c_source import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer.access import store as answers
from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.layouts import store
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import Reading, read_layouts
from linesmith.analyzer.layouts.store import NO_STAMP, IndexedLayouts, built, encoded, read_saved
from linesmith.analyzer.model import Profile

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


@pytest.mark.usefixtures("cache")
def test_other_data_of_the_product_is_another_premise_of_answers(elf: Path, tmp_path: Path) -> None:
    """The slab caches of kernels are rows of a text: an answer that was kept for others is not given again."""
    source, data = (tmp_path / "product" / "analyzer" / name for name in ("access/store.py", "slab/known_caches.txt"))
    for path in (source, data):
        path.parent.mkdir(parents=True)
    source.write_bytes(Path(answers.__file__).read_bytes())

    def premises() -> bytes:
        spec = spec_from_file_location("store_of_another_product", source)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        kept = module.kept_answers(read_layouts(elf), Profile("", "", "hitm", ()), b"")
        assert kept is not None
        return bytes(kept.premises)

    before = premises()
    assert premises() == before
    data.write_text("session  sessions  session_init  grows\n")
    assert premises() != before


def test_a_build_id_too_long_for_a_file_name_is_shortened(cache: Path, tmp_path: Path) -> None:
    read_layouts(executable(tmp_path, SOURCE, "ab" * 400))
    assert read_layouts(tmp_path / "program").cached
    assert only_index(cache).suffix == ".index"


def test_an_index_of_another_file_or_format_is_built_again(
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


def test_index_says_whether_there_was_anything_to_do_and_other_commands_say_nothing(elf: Path, tmp_path: Path) -> None:
    cache = tmp_path / "chosen"
    assert linesmith("index", elf, cache=cache).stdout == f"{elf}: 1 names, read from DWARF\n"
    assert linesmith("index", elf, cache=cache).stdout == f"{elf}: 1 names, up to date\n"
    assert len(list(cache.iterdir())) == 1
    done = linesmith("lint", "--base", elf, "--head", compiled(tmp_path, SOURCE + ";", name="new"), cache=cache)
    assert (done.returncode, done.stderr) == (0, "")


# Layouts of a build that is not kept: an index in a file of its own

SAVED = "struct s { int a; long b; struct { char c; }; } s; struct t { struct s s; } t;"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    done = linesmith("index", compiled(folder, SAVED), "-o", folder / "base.index", cache=folder / "cache")
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "base.index"


def test_it_stands_for_the_build_and_does_not_say_where_that_lay(saved: Path, tmp_path: Path) -> None:
    elf, cache_of = compiled(tmp_path, SAVED), tmp_path / "cache"
    shown = [linesmith("layout", one, cache=cache_of).stdout for one in (elf, saved)]
    assert shown[0] == shown[1]
    assert str(saved.parent).encode() not in saved.read_bytes()
    changed = compiled(tmp_path, SAVED.replace("long b;", "long b; long more;"))
    done = linesmith("lint", "--base", saved, "--head", changed, cache=cache_of)
    assert done.stdout.endswith("2 records, 2 changed, 0 watched\n")


def test_what_cannot_be_done_is_refused(saved: Path, tmp_path: Path) -> None:
    elf, cache_of = compiled(tmp_path, SAVED), tmp_path / "cache"
    before = elf.read_bytes()
    done = linesmith("access", saved, cache=cache_of)
    assert (done.returncode, "is a saved index, which has layouts only" in done.stderr) == (2, True)
    assert linesmith("index", elf, elf, "-o", tmp_path / "x.index", cache=cache_of).returncode == 2
    assert not (tmp_path / "x.index").exists()
    assert linesmith("index", elf, "-o", elf, cache=cache_of).returncode == 2
    assert elf.read_bytes() == before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 3000), byte=st.integers(0, 255), end=st.integers(0, 3000))
def test_damage_is_refused_or_harmless(saved: Path, tmp_path: Path, at: int, byte: int, end: int) -> None:
    content = bytearray(saved.read_bytes())
    content[17 + at % (len(content) - 17)] = byte
    damaged = tmp_path / "damaged.index"
    damaged.write_bytes(content[: len(content) - end % 2 * (end % len(content))])
    with suppress(ElfError):
        assert set(read_saved(damaged)[1].names()) == {"s", "t"}


def rewritten(saved: Path, target: Path, old: bytes, new: bytes) -> Path:
    """The index with one thing said otherwise in its records, and checksums that agree with that."""
    _, layouts = read_saved(saved)
    parts = [bytes(layouts.body[start:end]) for start, end in pairwise((0, *layouts.head.ends))]
    changed = [part.replace(old, new) for part in parts]
    assert changed != parts
    ends = tuple(accumulate(map(len, changed)))
    forged = built(NO_STAMP, layouts.head.names, ends, layouts.head.digests, b"".join(changed))
    head, _, _ = saved.read_bytes().partition(b"}\n")
    target.write_bytes(b"".join((head, b"}\n", *encoded(forged))))
    return target


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"natural_alignment":8', b'"natural_alignment":0'),
        (b'"natural_alignment":8', b'"natural_alignment":7'),
        (b'"offset":8', b'"offset":-8'),
        (b'"size":8', b'"size":99999999999999999'),
        (b'"id":0', b'"id":5'),
    ],
)
def test_what_no_compiler_says_is_refused(saved: Path, tmp_path: Path, old: bytes, new: bytes) -> None:
    done = linesmith("lint", rewritten(saved, tmp_path / "forged.index", old, new), cache=tmp_path / "cache")
    assert (done.returncode, "is a damaged index: " in done.stderr) == (2, True)


# What an index says of its records beside them: outlines of their members, and digests of their layouts

OUTLINED = """
struct leaf { long low, high; };
struct middle { char first; struct leaf table[2][3]; struct { struct leaf inner; int flags : 3; }; };
struct outer { struct middle one; union { struct leaf leaf; struct middle other; }; char tail[]; };
struct outer outer;
"""


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> IndexedLayouts:
    return read_layouts(compiled(tmp_path_factory.mktemp("outlines"), OUTLINED)).layouts


def test_an_outline_has_the_places_of_all_members(layouts: IndexedLayouts) -> None:
    for outline, layout in zip(layouts.outlines(), layouts, strict=True):
        assert (outline.id, outline.size) == (layout.id, layout.size)
        for part, member in zip(outline.members, layout.members, strict=True):
            assert part.offset == member.offset
            assert (part.dimensions, part.record) == (member.dimensions, member.record)


@pytest.mark.parametrize("name", ["leaf", "middle", "outer"])
def test_records_are_found_in_the_same_places_with_them_and_without(layouts: IndexedLayouts, name: str) -> None:
    record = layouts.variants(name)[0].id
    assert Containment(layouts).places(record) == Containment(LayoutTable(layouts)).places(record)
