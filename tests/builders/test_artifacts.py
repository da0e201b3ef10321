# SPDX-License-Identifier: GPL-2.0-or-later
"""An artifact is there whole or not at all; what was killed in between is cleared away by the next."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from builders.projects import CASES, plant

from linesmith.analyzer.base.errors import BuildFailed, OutputError
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.registry import builder


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A place in which nothing was built yet."""
    plant({"text": "whole"}, tmp_path / "tree")
    return Workplace(tmp_path / "warm", tmp_path / "artifacts")


def build(place: Workplace, command: str = "cp text program") -> Built:
    recipe = Recipe("command", place.warm.with_name("tree"), command=command, products=("program",))
    return builder("command").build(recipe, Variant("v"), place, lambda _: None)


def test_a_build_that_fails_leaves_its_log_alone(place: Workplace) -> None:
    key = build(place).key
    with pytest.raises(BuildFailed):
        build(place, "echo half > program; echo error; exit 1")
    assert sorted(path.name for path in place.artifacts.iterdir()) == [".locks", ".logs", key]
    assert [path.read_text().splitlines()[-1] for path in (place.artifacts / ".logs").iterdir()] == ["error"]


def test_drafts_of_the_dead_are_cleared_away_and_those_of_the_living_stay(place: Workplace) -> None:
    """A living build begins another one and then looks what has become of its own draft."""
    started, go = place.warm.with_name("started"), place.warm.with_name("go")
    waits = f"touch {started}; until test -e {go}; do sleep 0.05; done; cp text program"
    with ThreadPoolExecutor(1) as other:
        living = other.submit(build, place, waits)
        while not started.exists():
            assert not living.done()
            time.sleep(0.05)
        (place.artifacts / ".draft-dead").mkdir()
        build(replace(place, warm=place.warm.with_name("other")))
        drafts = [path.name for path in place.artifacts.glob(".draft*")]
        go.touch()
        assert drafts == [f".draft-{living.result().key}"]


@pytest.mark.parametrize(("file", "content"), [("products/program", "cut"), ("build.json", "{")])
def test_a_damaged_artifact_is_built_again(place: Workplace, file: str, content: str) -> None:
    first = build(place)
    (first.directory / file).write_text(content)
    assert not build(place).reused
    assert build(place) == replace(first, reused=True, seconds=0.0)


SMALL_DISK = """
import sys
from dataclasses import replace
from pathlib import Path
from linesmith.analyzer.base.errors import DiskFull
from linesmith.analyzer.model import Recipe, Variant, Workplace
from linesmith.plugins.registry import builder

tree, disk = Path(sys.argv[1]), Path(sys.argv[2])
place = Workplace(disk / "warm", disk / "artifacts")
recipe = Recipe("command", tree, command="head -c 1500000 /dev/zero > big", products=("big",))
for count in (1, 2):
    try:
        builder("command").build(recipe, Variant("v"), place, lambda _: None)
    except DiskFull as error:
        print(error)
print([path.name for path in place.artifacts.iterdir() if not path.name.startswith(".")])
small = replace(recipe, command="rm -f big; echo 1 > small", products=("small",))
print(builder("command").build(small, Variant("v"), place, lambda _: None).product("small").read_text().strip())
"""


def test_a_disk_that_is_full_leaves_no_artifact(tmp_path: Path) -> None:
    """The product fits once on the disk, not twice; what begins with a dot is no artifact."""
    tree, disk = plant(CASES["make"].files, tmp_path / "tree"), tmp_path / "disk"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=2500k none "$4" && exec "$1" -c "$2" "$3" "$4"'
    words = ("unshare", "-rm", "sh", "-c", script, "sh", sys.executable, SMALL_DISK, str(tree), str(disk))
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if "mount" in ended.stderr or "unshare" in ended.stderr:
        pytest.skip(f"no small file system can be mounted here: {ended.stderr}")
    first, second, kept, small = ended.stdout.splitlines()
    assert first == second
    assert first.startswith("no space left for ")
    assert kept == "[]"
    assert small == "1"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    tree = plant(CASES["make"].files, tmp_path / "tree")
    (tmp_path / "artifacts").write_text("a file")
    recipe, place = CASES["make"].recipe(tree), Workplace(tmp_path / "warm", tmp_path / "artifacts")
    with pytest.raises(OutputError, match="artifacts cannot be written"):
        builder("command").build(recipe, Variant("v"), place, lambda _: None)
