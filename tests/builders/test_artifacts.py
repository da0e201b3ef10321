# SPDX-License-Identifier: GPL-2.0-or-later
"""An artifact is there whole or not at all; what was killed in between is cleared away by the next."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from builders.projects import CASES, plant

from linesmith.analyzer.errors import BuildFailed, OutputError
from linesmith.analyzer.model import Built, Variant, Workplace
from linesmith.plugins.builders.artifacts import Artifacts
from linesmith.plugins.registry import builder


@pytest.fixture
def store(tmp_path: Path) -> Artifacts:
    """A store in which one build is kept."""
    store = Artifacts(tmp_path / "artifacts")
    keep(store, "key", tmp_path)
    return store


def keep(store: Artifacts, key: str, folder: Path) -> Built:
    origin = folder / "program"
    origin.write_text("whole")
    with store.turn(key) as draft:
        store.log(key).write_text("$ make\n")
        built = Built(key, store.folder / key, (), "cc 12", "digest", ("make",), 2.0)
        return store.commit(draft, built, {"program": origin}, None)


def test_what_was_kept_is_found(store: Artifacts) -> None:
    products = (("program", store.folder / "key/products/program"),)
    assert store.find("key", "tree") == Built(
        "key", store.folder / "key", products, "cc 12", "digest", ("make",), reused=True, sources="tree"
    )
    assert (store.folder / "key/build.log").read_text() == "$ make\n"
    assert not store.log("key").exists()
    assert store.find("other", "tree") is None


def test_a_build_that_fails_leaves_its_log_alone(store: Artifacts) -> None:
    with suppress(BuildFailed), store.turn("bad") as draft:
        store.log("bad").write_text("error")
        (draft / "half").write_text("h")
        raise BuildFailed
    assert sorted(path.name for path in store.folder.iterdir()) == [".locks", ".logs", "key"]
    assert store.log("bad").read_text() == "error"


def test_drafts_of_the_dead_are_cleared_away_and_those_of_the_living_stay(store: Artifacts, tmp_path: Path) -> None:
    dead = store.folder / ".draft-dead"
    dead.mkdir()
    with store.turn("living") as living:
        keep(store, "next", tmp_path)
        assert not dead.exists()
        assert living.exists()


def test_a_damaged_artifact_is_none(store: Artifacts, tmp_path: Path) -> None:
    (store.folder / "key/products/program").write_text("cut")
    assert store.find("key", "tree") is None
    keep(store, "key", tmp_path)
    assert store.find("key", "tree")
    (store.folder / "key/build.json").write_text("{")
    assert store.find("key", "tree") is None


SMALL_DISK = """
import sys
from dataclasses import replace
from pathlib import Path
from linesmith.analyzer.errors import DiskFull
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
print(sorted(path.name for path in place.artifacts.iterdir()))
small = replace(recipe, command="rm -f big; echo 1 > small", products=("small",))
print(builder("command").build(small, Variant("v"), place, lambda _: None).product("small").read_text().strip())
"""


def test_a_disk_that_is_full_leaves_no_artifact(tmp_path: Path) -> None:
    """The product fits once on the disk, not twice."""
    tree, disk = plant(CASES["make"].files, tmp_path / "tree"), tmp_path / "disk"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=2500k none "$4" && exec "$1" -c "$2" "$3" "$4"'
    words = ("unshare", "-rm", "sh", "-c", script, "sh", sys.executable, SMALL_DISK, str(tree), str(disk))
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if "mount" in ended.stderr or "unshare" in ended.stderr:
        pytest.skip(f"no small file system can be mounted here: {ended.stderr}")
    first, second, kept, small = ended.stdout.splitlines()
    assert first == second
    assert first.startswith("no space is left for ")
    assert kept == "['.locks', '.logs']"
    assert small == "1"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    tree = plant(CASES["make"].files, tmp_path / "tree")
    (tmp_path / "artifacts").write_text("a file")
    recipe, place = CASES["make"].recipe(tree), Workplace(tmp_path / "warm", tmp_path / "artifacts")
    with pytest.raises(OutputError, match="artifacts cannot be written"):
        builder("command").build(recipe, Variant("v"), place, lambda _: None)
