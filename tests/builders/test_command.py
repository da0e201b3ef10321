# SPDX-License-Identifier: GPL-2.0-or-later
"""Any project is built by its own command; an artifact of it is there whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from builders.projects import CASES, MAKEFILE, SOURCES, plant

from linesmith.analyzer.base.errors import (
    BuildFailed,
    CompilerKilled,
    DiskFull,
    LinesmithError,
    OutputError,
    ToolMissing,
    TreeError,
)
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.registry import builder

BUILDER = builder("command")
Build = Callable[..., Built]


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    tree = plant({**SOURCES, "Makefile": MAKEFILE}, tmp_path / "tree")
    return Recipe("command", tree, command="make -j{jobs}", products=("program",), jobs=2, seconds=300)


@pytest.fixture
def build(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds the tree with another command or other settings."""
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    place = Workplace(tmp_path / "warm", tmp_path / "artifacts")
    return lambda salt=0, **settings: BUILDER.build(
        replace(recipe, **settings), Variant("v", salt=salt), place, lambda _: None
    )


def output(build: Build, command: str, salt: int = 0) -> str:
    return build(salt, command=f"{{ {command}; }} > out", products=("out",)).product("out").read_text()


def test_words_and_variables_of_the_command(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """What steers make from outside is kept away."""
    monkeypatch.setenv("MAKEFLAGS", "-n")
    monkeypatch.setenv("CFLAGS", "-DWRONG")
    assert output(build, 'echo {jobs} {salt} $LINESMITH_SALT "$MAKEFLAGS$CFLAGS"', 7) == "2 7 7 \n"
    assert output(build, "echo $LINESMITH_CFLAGS") == "\n"
    assert output(build, "echo $LINESMITH_CFLAGS", 2) == "-falign-functions=64 -falign-loops=1\n"


def test_a_compiler_that_is_asked_for(build: Build) -> None:
    """The makefile says ``cc``; the program of that name is the one asked for."""
    if not shutil.which("gcc-12"):
        pytest.skip("there is no second name of a compiler")
    built = build(compiler="gcc-12")
    assert built.compiler.startswith("gcc-12 ")
    assert output(build, "basename $(command -v gcc-12)") == "gcc-12\n"


def test_a_makefile_that_names_its_compiler_and_flags_has_placebos_too(build: Build, recipe: Recipe) -> None:
    makefile = recipe.tree / "Makefile"
    makefile.write_text("CC = gcc\n" + makefile.read_text())
    assert build().product("program").read_bytes() != build(1).product("program").read_bytes()


def test_debug_information_names_the_users_tree(build: Build, recipe: Recipe) -> None:
    program = build().product("program")
    shown = subprocess.run(("readelf", "--debug-dump=info", program), capture_output=True, text=True, check=True).stdout
    assert str(recipe.tree) in shown
    assert "warm" not in shown


def test_folders_with_blanks_in_their_names(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spaced = replace(recipe, tree=recipe.tree.rename(tmp_path / "my tree"))
    place = Workplace(Path("warm place"), Path("my artifacts"))
    built = BUILDER.build(spaced, Variant("v"), place, lambda _: None)
    assert built.product("program").is_relative_to(tmp_path / "my artifacts")


def test_products_in_folders_have_their_files_names(build: Build) -> None:
    built = build(command="make && mkdir -p a/b && cp program a/b/other", products=("program", "a/b/other"))
    assert [name for name, _ in built.products] == ["program", "other"]


def test_a_configured_tree_is_configured_again_in_the_copy(build: Build, recipe: Recipe) -> None:
    """A tree that was built in place: its makefile names its own folder, its objects have other flags."""
    template = "program:\n\tpwd > @here@/program\n"
    plant({"configure": 'sed "s|@here@|$PWD|" Makefile.in > Makefile\n', "Makefile.in": template}, recipe.tree)
    subprocess.run(("sh", "configure"), cwd=recipe.tree, check=True)
    plant({"config.status": "", "program.o": ""}, recipe.tree)
    built = build(command="test ! -e program.o && sh configure && make")
    assert "/warm/" in built.product("program").read_text()
    assert not (recipe.tree / "program").exists()


@pytest.mark.parametrize(
    ("command", "error", "why"),
    [
        ("true", BuildFailed, "the command ended well but made no program; see "),
        ("cat Makefile > /dev/full", DiskFull, "free some and resume"),
        ("CCACHE_DISABLE=1; export CCACHE_DISABLE; ulimit -v 20000; make", CompilerKilled, "use fewer jobs"),
        ("kill -9 $$", CompilerKilled, "was killed by Killed"),
        ("no-such-tool", ToolMissing, "no-such-tool is not installed"),
    ],
)
def test_a_command_that_fails(build: Build, command: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        build(command=command)


def test_a_product_of_an_earlier_build_does_not_pass(build: Build) -> None:
    build()
    with pytest.raises(BuildFailed, match="made no program"):
        build(command="make > log; true # and fail silently", products=("program",), compiler="false")


def test_a_failing_command_leaves_no_half_object_for_the_next(build: Build) -> None:
    """Make takes a target that is there for done, though its recipe had failed when it was half written."""
    broken = "printf 'program: half\\n\\tcp half program\\nhalf:\\n\\techo whole > half\\n' > GNUmakefile; "
    with pytest.raises(BuildFailed):
        build(command="test -e half || { echo h > half; exit 1; }; make program", products=("program",))
    line = "test ! -e half && " + broken + "make"
    assert build(command=line).product("program").read_text() == "whole\n"


@pytest.mark.parametrize(
    ("settings", "obstacle"),
    [
        ({"command": " "}, "there is no command to build with; give one, such as `make -j{jobs}`"),
        ({"products": ()}, "no products are named; name the files that the command makes"),
        ({"products": ("../x",)}, "the product '../x' is no path within the tree"),
        ({"products": ("/bin/sh",)}, "the product '/bin/sh' is no path within the tree"),
        ({"products": ("a/x", "b/x")}, "two products have the same file name; rename one"),
        ({"compiler": "no-such-cc"}, "no-such-cc is not installed; install the package no-such-cc"),
    ],
)
def test_obstacles(recipe: Recipe, tmp_path: Path, settings: dict[str, str], obstacle: str) -> None:
    assert BUILDER.obstacle(recipe) is None
    changed = replace(recipe, **settings)  # type: ignore[arg-type]
    assert BUILDER.obstacle(changed) == obstacle
    place = Workplace(tmp_path / "warm", tmp_path / "artifacts")
    with pytest.raises(LinesmithError):
        BUILDER.build(changed, Variant("v"), place, lambda _: None)


def test_no_tree(recipe: Recipe, tmp_path: Path) -> None:
    nowhere = replace(recipe, tree=tmp_path / "nowhere")
    with pytest.raises(TreeError, match="nowhere is not a folder"):
        BUILDER.build(nowhere, Variant("v"), Workplace(tmp_path / "w", tmp_path / "a"), lambda _: None)


# What was killed in between is cleared away by the next


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """A place in which nothing was built yet."""
    plant({"text": "whole"}, tmp_path / "tree")
    return Workplace(tmp_path / "warm", tmp_path / "artifacts")


def built(place: Workplace, command: str = "cp text program") -> Built:
    recipe = Recipe("command", place.warm.with_name("tree"), command=command, products=("program",))
    return builder("command").build(recipe, Variant("v"), place, lambda _: None)


def test_a_build_that_fails_leaves_its_log_alone(place: Workplace) -> None:
    key = built(place).key
    with pytest.raises(BuildFailed):
        built(place, "echo half > program; echo error; exit 1")
    assert sorted(path.name for path in place.artifacts.iterdir()) == [".locks", ".logs", key]
    assert [path.read_text().splitlines()[-1] for path in (place.artifacts / ".logs").iterdir()] == ["error"]


def test_drafts_of_the_dead_are_cleared_away_and_those_of_the_living_stay(place: Workplace) -> None:
    """A living build begins another one and then looks what has become of its own draft."""
    started, go = place.warm.with_name("started"), place.warm.with_name("go")
    waits = f"touch {started}; until test -e {go}; do sleep 0.05; done; cp text program"
    with ThreadPoolExecutor(1) as other:
        living = other.submit(built, place, waits)
        while not started.exists():
            assert not living.done()
            time.sleep(0.05)
        (place.artifacts / ".draft-dead").mkdir()
        built(replace(place, warm=place.warm.with_name("other")))
        drafts = [path.name for path in place.artifacts.glob(".draft*")]
        go.touch()
        assert drafts == [f".draft-{living.result().key}"]


@pytest.mark.parametrize(("file", "content"), [("products/program", "cut"), ("build.json", "{")])
def test_a_damaged_artifact_is_built_again(place: Workplace, file: str, content: str) -> None:
    first = built(place)
    (first.directory / file).write_text(content)
    assert not built(place).reused
    assert built(place) == replace(first, reused=True, seconds=0.0)


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
