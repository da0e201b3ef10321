# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout`` with a profile, and as a map or picture, as a user meets it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from c_source import compiled
from documented import obeys
from linesmith_command import LINESMITH, linesmith

SOURCES = Path(__file__).with_name("sources")
REPORT = (SOURCES / "report.txt").read_text()
EXPECTED = (SOURCES / "contended_queue.txt").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queue")
    compiled(folder, (SOURCES / "program.c").read_text(), "-O1", name="program")
    (folder / "report.txt").write_text(REPORT)
    return folder


def layout(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return linesmith("layout", folder / "program.o", *arguments)


def shown(folder: Path, *arguments: str | Path) -> str:
    done = layout(folder, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_profile_colours_the_map_and_names_who_touches_what(folder: Path) -> None:
    assert shown(folder, "queue", "--profile", folder / "report.txt") == EXPECTED
    # Without a type the records that were seen touched are drawn.
    assert shown(folder, "--profile", folder / "report.txt") == EXPECTED


def test_a_record_that_nobody_was_seen_to_touch_is_drawn_all_the_same_but_several_have_an_answer(folder: Path) -> None:
    done = layout(folder, "untouched", "--profile", folder / "report.txt")
    assert done.returncode == 0
    assert "   0 |word   |\n" in done.stdout
    assert done.stderr.startswith("linesmith: no line of ")
    assert done.stderr.endswith("holds untouched; found: queue\n")
    done = layout(folder, "untouched", "idle", "--profile", folder / "report.txt")
    assert done.returncode == 0
    assert done.stdout.startswith("no access to any of these records in ")


def test_the_map_needs_no_profile_and_may_start_inside_a_line(folder: Path) -> None:
    assert shown(folder, "untouched", "--format", "map") == (
        "struct untouched: 8 bytes on 1 cache line; declared at program.c:14\n"
        "line 0       8       16      24      32      40      48      56\n"
        "   0 |word   |\n"
    )
    text = shown(folder, "untouched", "--format", "map", "--phase", "56")
    assert "from byte 56 of the first" in text
    assert f"   0 {' ' * 56}|word   |" in text
    assert shown(folder, "untouched").startswith("struct untouched {\n")


def test_with_access_the_map_says_what_the_code_can_do(folder: Path) -> None:
    text = shown(folder, "queue", "--access", "--format", "map")
    assert "counts are instructions in the code" in text
    assert "          40     8  tail: 1 read, 1 write\n                      queue_put: 1 read, 1 write\n" in text


def test_json_holds_the_maps(folder: Path) -> None:
    document = json.loads(shown(folder, "queue", "--profile", folder / "report.txt", "--format", "json"))
    obeys(document, "layout")
    cells = {cell["path"]: cell for line in document["maps"][0]["lines"] for cell in line["cells"]}
    assert (document["records"][0]["name"], cells["head"]["heat"], cells["tail"]["writes"]) == ("queue", 0.7, 30)
    assert cells["head"]["touchers"] == [
        {"function": "queue_head", "reads": 140, "writes": 0, "cpus": 8, "nodes": [0, 1]}
    ]


def test_the_name_of_the_file_says_which_picture_is_wanted(folder: Path, tmp_path: Path) -> None:
    assert shown(folder, "queue", "--profile", folder / "report.txt", "-o", tmp_path / "queue.svg") == ""
    assert ET.parse(tmp_path / "queue.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    # A format that is set for all commands does not spoil it, one on the command line counts.
    picture, environment = tmp_path / "set.svg", os.environ | {"LINESMITH_FORMAT": "json"}
    assert linesmith("layout", folder / "program.o", "queue", "-o", picture, env=environment).returncode == 0
    assert picture.read_text().startswith("<?xml")
    shown(folder, "queue", "-o", picture, "--format", "json")
    assert json.loads(picture.read_text())["schema"] == 1


def on_a_terminal(folder: Path, *arguments: str | Path, **environment: str) -> str:
    """What stands on a terminal of 80 columns in the end: progress, which depends on the time it takes, is wiped."""
    master, slave = pty.openpty()
    command = [LINESMITH, "layout", folder / "program.o", *arguments]
    whole = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "LC_ALL")}
    with subprocess.Popen(command, stdout=slave, stderr=slave, env=whole | {"COLUMNS": "80"} | environment) as child:
        os.close(slave)
        text = b""
        while True:
            try:
                read = os.read(master, 65536)
            except OSError:  # Linux says so where the other end is closed
                break
            if not read:
                break
            text += read
        child.wait()
    os.close(master)
    return text.decode().replace("\r\n", "\n").rpartition("\r\x1b[K")[2]


def test_a_terminal_shows_heat_in_colour_and_shades_unless_it_wants_none(folder: Path) -> None:
    profile = ("queue", "--profile", folder / "report.txt")
    text = on_a_terminal(folder, *profile, TERM="xterm-256color", LANG="C.UTF-8")
    assert "\x1b[38;5;231;48;5;124m██70%r█\x1b[0m" in text
    assert on_a_terminal(folder, *profile, LC_ALL="C", NO_COLOR="1", TERM="xterm-256color").endswith(EXPECTED)


@pytest.mark.parametrize(
    ("wish", "coloured"),
    [({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "0"}, False), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_a_file_is_coloured_only_where_it_is_asked_for(folder: Path, wish: dict[str, str], coloured: bool) -> None:
    """Colours add nothing but colour."""
    words = ("layout", folder / "program.o", "queue", "--profile", folder / "report.txt")
    text = linesmith(*words, env={**os.environ, "LC_ALL": "C", "TERM": "xterm", **wish}).stdout
    assert ("\x1b[38;5;231;48;5;124m##70%r#\x1b[0m" in text) is coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == EXPECTED


def test_suggest_draws_what_is_recommended_before_and_after(folder: Path, tmp_path: Path) -> None:
    words = ("suggest", folder / "program.o", folder / "report.txt")
    done = linesmith(*words, "--format", "map")
    assert (done.returncode, done.stderr) == (0, "")
    headings = re.findall(
        r"^struct queue: .*?; (before|after, with the samples\n? *of before);", done.stdout, re.MULTILINE
    )
    assert [one.split(",")[0] for one in headings] == ["before", "after"]
    assert "> moved\n" in done.stdout
    done = linesmith(*words, "--candidate", "1", "-o", tmp_path / "change.svg")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    texts = [one.text for one in ET.parse(tmp_path / "change.svg").getroot().iter() if one.text]  # noqa: S314
    assert sum(text.startswith(("before; ", "after, with")) for text in texts) == 2


def test_diff_draws_what_moved(tmp_path: Path) -> None:
    old = compiled(tmp_path, "struct s { long a, b, c; } s; struct gone { int x; } g;", name="old")
    new = compiled(tmp_path, "struct s { long c, a, b; } s;", name="new")
    done = linesmith("diff", old, new, "--format", "map")
    assert (done.returncode, done.stderr) == (1, "")
    assert "   0 |a      |b      |>c     |\n" in done.stdout
    assert "   0 |>c     |a      |b      |\n" in done.stdout
    assert "struct gone: 4 bytes on 1 cache line; removed; declared at old.c:1\n" in done.stdout
    assert linesmith("diff", new, new, "--format", "map").returncode == 0


def test_diff_draws_records_not_what_a_patch_makes_grow(tmp_path: Path) -> None:
    (tmp_path / "change.patch").write_text("")
    done = linesmith("diff", "--patch", tmp_path / "change.patch", "--tree", tmp_path, "--format", "svg")
    assert done.returncode == 2
    assert "--patch has text output only" in done.stderr
