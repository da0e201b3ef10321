# SPDX-License-Identifier: GPL-2.0-or-later
"""A full disk: whatever option names a result, the file that was there stays as it was, and nothing lies beside it.

The options are those that the commands have, so a new one is missed here until it is tried, or listed with a reason.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from demo.example import example_program
from linesmith_command import LINESMITH, linesmith

from linesmith.analyzer import cli

pytestmark = pytest.mark.xdist_group("full disk")
SOURCES = Path(__file__).with_name("sources")
OLD = "the result of last week\n"
RESULTS: dict[str, dict[str, str]] = tomllib.loads((SOURCES / "results.toml").read_text())
TRIED, BEFORE, NOT_TRIED = RESULTS["tried"], RESULTS["before"], RESULTS["not-tried"]
# A result, a file that the command names itself, and one that it adds to; these start no program that needs room.
ALONE = ("layout -o", "lint --also", "intent --into")


def options_that_name_results() -> set[str]:
    """Every option of every command for a file or a folder that need not be there."""
    context = click.Context(cli.linesmith)
    found = set()
    for name in cli.linesmith.list_commands(context):
        command = cli.linesmith.get_command(context, name)
        assert command is not None
        for option in command.params:
            words = option.metavar or ""
            is_path = isinstance(option.type, click.Path) or "FILE" in words or "DIR" in words
            if isinstance(option, click.Option) and is_path and not getattr(option.type, "exists", False):
                found.add(f"{name} {option.opts[0]}")
    return found


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example program with two profiles and a compilation database, and a program with a pointer."""
    folder = tmp_path_factory.mktemp("bench") / "workplace"
    example_program(folder)
    _database(folder, sorted(one.name for one in folder.glob("*.c")))
    (folder / "pointers").mkdir()
    shutil.copy(SOURCES / "area.c", folder / "pointers")
    _database(folder / "pointers", ["area.c"])
    shutil.copy(folder / "bench.c2c", folder / "again.c2c")
    return folder


def _finish_run(folder: Path) -> None:
    if folder.exists():
        return
    folder.mkdir()
    (folder / "speed.h").write_text("#define SPEED 100\n")
    for name in ("answer.c", "faster.patch", "plan.toml"):
        shutil.copy(SOURCES / name, folder)
    done = linesmith("bench", "plan.toml", "faster.patch", cwd=folder)
    assert done.returncode == 0, done.stderr


def _database(folder: Path, units: list[str]) -> None:
    entries = [{"directory": str(folder), "file": one, "command": f"gcc -pthread -c {one}"} for one in units]
    (folder / "compile_commands.json").write_text(json.dumps(entries))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by root only")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def fill(disk: Path) -> None:
    with (disk / "all the rest").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 12))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def limited(words: str, folder: Path, largest: int) -> subprocess.CompletedProcess[str]:
    """Run the installed program in the folder; it may make no file of more than ``largest`` bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    command = [str(LINESMITH), *words.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit)


def run(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return linesmith(*words.split(), cwd=folder)


def needs(name: str) -> None:
    wanted = {"encapsulate": "spatch", "inline": "spatch", "record": "qemu-x86_64"}.get(name.split()[0])
    if wanted and shutil.which(wanted) is None:
        pytest.skip(f"{wanted} is not installed")


def test_every_option_that_names_a_result_is_tried() -> None:
    assert options_that_name_results() == TRIED.keys() | NOT_TRIED.keys()


@pytest.mark.parametrize(
    "name", [name if name in ALONE else pytest.param(name, marks=pytest.mark.study) for name in TRIED]
)
def test_a_full_disk_leaves_the_old_result(name: str, workplace: Path, small_disk: Path) -> None:
    needs(name)
    if "run/" in TRIED[name]:
        _finish_run(workplace / "run")
    result = small_disk / "result"
    result.write_text(BEFORE.get(name, OLD))
    fill(small_disk)
    before = contents(small_disk)
    done = run(TRIED[name].format(result), workplace)
    assert done.returncode == 2, done.stderr
    complaint = done.stderr.splitlines()[-1].replace(f"{result}.trace:", f"{result}:")
    assert complaint.startswith(f"linesmith: cannot write {result}: No space left on device; ")
    assert contents(small_disk) == before


@pytest.mark.parametrize("name", ALONE[:2])
def test_a_limit_to_the_size_of_files_leaves_the_old_result(name: str, workplace: Path, tmp_path: Path) -> None:
    result = tmp_path / "result"
    result.write_text(BEFORE.get(name, OLD))
    done = limited(TRIED[name].format(result), workplace, largest=16)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"linesmith: cannot write {result}: {os.strerror(errno.EFBIG)}; ")
    assert contents(tmp_path) == {"result": BEFORE.get(name, OLD).encode()}


@pytest.mark.parametrize(
    "words", ["man -o {}", pytest.param("patch bench bench.c2c --tree . -o {}/", marks=pytest.mark.study)]
)
def test_a_full_disk_leaves_the_old_file_in_a_folder(
    words: str, workplace: Path, small_disk: Path, tmp_path: Path
) -> None:
    (tmp_path / "made").mkdir()
    assert run(words.format(tmp_path / "made"), workplace).returncode == 0
    (small_disk / min((tmp_path / "made").iterdir()).name).write_text(OLD)
    fill(small_disk)
    before = contents(small_disk)
    done = run(words.format(small_disk), workplace)
    assert (done.returncode, "No space left on device" in done.stderr) == (2, True)
    assert contents(small_disk) == before
