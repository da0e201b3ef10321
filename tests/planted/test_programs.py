# SPDX-License-Identifier: GPL-2.0-or-later
"""The planted programs run, are sound C, and show in a recording what was planted; their measured tables are whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean

import pytest
from linesmith_command import linesmith

from linesmith.tuner.run.plan_file import read_plan

SOURCES = Path(__file__).parent / "programs"
pytestmark = pytest.mark.xdist_group("planted")

PROGRAMS = ("channel", "gateway", "mailbox", "pair", "routes", "server", "tallies", "traffic")
PLANTED = {
    "channel": ("channel", "false sharing of received with sent, which is written"),
    "gateway": ("gateway", "false sharing of longest with accepted, which is written"),
    "mailbox": ("mailbox", "message lies on this line and on another hot one, so both travel"),
    "routes": ("route_table", "false sharing of mask with lock, which is written"),
    "server": ("server", "false sharing of settings with accepted, which is written"),
    "tallies": ("tally", "false sharing of "),
    "traffic": ("traffic", "false sharing of packets_"),
}
# Those that are recorded in every run of the tests.
RECORDED = ("channel", "mailbox", "routes", "server")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every program, as its makefile builds it."""
    folder = tmp_path_factory.mktemp("planted")
    subprocess.run(["make", "-s", "-C", SOURCES, f"OUT={folder}"], check=True)
    return folder


@pytest.fixture(scope="module")
def files_of(built: Path) -> Callable[[str], tuple[Path, Path]]:
    """The program of this name and its recording, made when first asked for."""

    @cache
    def recorded(name: str) -> tuple[Path, Path]:
        program, profile = built / f"{name}.run", built / f"{name}.profile"
        done = linesmith("record", "--on", "qemu-user", "-o", profile, "--", program, "2", "4")
        assert done.returncode == 0, done.stderr
        return program, profile

    return recorded


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_its_rate(built: Path, name: str) -> None:
    for workers in ("1", "2"):
        done = subprocess.run([built / f"{name}.run", workers, "20"], capture_output=True, text=True, check=True)
        assert re.fullmatch(r"operations_per_second [1-9]\d*\n", done.stdout)


@pytest.mark.parametrize(
    "name", [one if one in ("pair", "server") else pytest.param(one, marks=pytest.mark.study) for one in PROGRAMS]
)
def test_no_data_race_is_found(tmp_path: Path, name: str) -> None:
    flags = "CFLAGS=-O1 -fsanitize=thread"
    subprocess.run(["make", "-s", "-C", SOURCES, f"OUT={tmp_path}", "CC=clang-19", flags, name], check=True)
    done = subprocess.run([tmp_path / f"{name}.run", "2", "3"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "name", [one if one in RECORDED else pytest.param(one, marks=pytest.mark.study) for one in PLANTED]
)
def test_the_hottest_line_is_the_planted_one(files_of: Callable[[str], tuple[Path, Path]], name: str) -> None:
    record, sentence = PLANTED[name]
    shown = linesmith("hot", *files_of(name), "--full").stdout
    hottest = shown.partition("\nline 2 ")[0]
    assert f"  object    {record}, begins " in hottest
    assert sentence in hottest


@pytest.mark.parametrize("name", ["channel", "routes", "server"])
def test_a_suggestion_parts_the_planted_pair(files_of: Callable[[str], tuple[Path, Path]], name: str) -> None:
    done = linesmith("suggest", "--format", "json", *files_of(name))
    met = [pair for pair in json.loads(done.stdout)["candidates"][0]["residual_phases"] if pair["line_bytes"] == 64]
    assert (met[0]["before"], met[0]["after"]) == (1.0, 0.0)


def test_a_patch_of_a_suggestion_builds(files_of: Callable[[str], tuple[Path, Path]], tmp_path: Path) -> None:
    files = files_of("server")
    patch, tree = tmp_path / "server.patch", tmp_path / "programs"
    done = linesmith("patch", *files, "--tree", SOURCES, "--cflags=-std=c11", "-o", patch)
    assert done.returncode == 0, done.stderr
    shutil.copytree(SOURCES, tree)
    subprocess.run(["patch", "-s", "-p1", "-d", tree, "-i", patch], check=True)
    subprocess.run(["make", "-s", "-C", tree, "server"], check=True)
    layout = linesmith("layout", tree / "server.run", "server").stdout
    assert re.search(r"settings; +/\* +8 .*cacheline 1 boundary.*accepted;", layout, re.DOTALL)


@pytest.mark.parametrize("name", PLANTED)
def test_every_point_of_a_table_was_measured_several_times_or_is_no_layout(name: str) -> None:
    table = json.loads((SOURCES.parent / "tables" / f"{name}.json").read_text())
    points = {",".join(map(str, one)) for one in product(*(range(len(one["choices"])) for one in table["dimensions"]))}
    start = ",".join("0" * len(table["dimensions"]))
    values = {point: measured for point, measured in table["values"].items() if point != start}
    assert values.keys() ^ table["failures"].keys() == points - {start}
    assert min(map(len, values.values())) >= 4
    assert min(map(mean, values.values())) < 0.9, "what was planted can be mended"


@pytest.mark.parametrize("plan", sorted((SOURCES.parent / "plans").glob("*.toml")), ids=lambda path: path.stem)
def test_a_plan_names_what_its_makefile_builds(plan: Path) -> None:
    recipe = read_plan(plan).recipe
    assert recipe.products == (f"{plan.stem}.run",)
    assert (recipe.tree / f"{plan.stem}.c").is_file()
