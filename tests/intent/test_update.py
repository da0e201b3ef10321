# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent --update``: the file as a build would have it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hand_made import scalar, struct
from linesmith_command import linesmith
from rule_cases import side

from linesmith.analyzer.lint.intent_update import stale
from linesmith.analyzer.model import Intent, SizeBudget, TypeIntent

SOURCE = """\
struct pipe {
  char __cacheline_group_begin__rx[0];
  long head;
  char __cacheline_group_end__rx[0];
  char name[48];
};
struct pipe pipe;
"""
WIDER = SOURCE.replace("long head;", "long head, tail;")
BUDGET = """\
# kept by us
[[type]]
name = "pipe"
reason = "one line, as measured"
[type.budget]
bytes = 64  # was 56
lines = 1
"""


def compiled(folder: Path, text: str) -> Path:
    (folder / "pipe.c").write_text(text)
    subprocess.run(["gcc", "-g", "-c", "pipe.c"], cwd=folder, check=True)
    return folder / "pipe.o"


def test_what_holds_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text(BUDGET)

    done = linesmith("intent", compiled(tmp_path, SOURCE), "--update", "--tree", tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bytes_get_no_more_room_than_the_objects_of_a_slab_leave() -> None:
    """A sixteenth more than 432 bytes would be 512, of which a slab holds fewer than the 37 that are asked for."""
    wanted = TypeIntent("task_group", "measured", budget=SizeBudget(bytes=400, objects_per_slab=37))
    build = side(struct("task_group", scalar("all", 432, dimensions=(54,))))

    (rewrite,) = stale(Intent(types=(wanted,)), build, frozenset())

    assert (rewrite.path, rewrite.value) == (("type", 0, "budget", "bytes"), 440)


def test_a_limit_that_is_exceeded_is_shown_with_room_to_grow(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text(BUDGET)
    grown = SOURCE.replace("name[48]", "name[60]")

    done = linesmith("intent", compiled(tmp_path, grown), "--update", "--tree", tmp_path)

    assert done.returncode == 1
    assert "-bytes = 64  # was 56\n-lines = 1\n+bytes = 128  # was 56\n+lines = 2\n" in done.stdout
    assert (tmp_path / "linesmith.toml").read_text() == BUDGET


def test_what_is_written_holds(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text(BUDGET)
    elf = compiled(tmp_path, SOURCE.replace("name[48]", "name[60]"))

    done = linesmith("intent", elf, "--update", "--into", tmp_path / "linesmith.toml")

    assert done.returncode == 0
    assert "+bytes = 128" in done.stdout
    assert linesmith("intent", elf, "--check", "--tree", tmp_path).returncode == 0
    assert (tmp_path / "linesmith.toml").read_text().startswith("# kept by us\n")


def test_imported_groups_are_those_between_the_markers_now(tmp_path: Path) -> None:
    file = tmp_path / "linesmith.toml"
    linesmith("intent", "--import", compiled(tmp_path, SOURCE), "--into", file)

    linesmith("intent", compiled(tmp_path, WIDER), "--update", "--into", file)

    assert file.read_text() == linesmith("intent", "--import", tmp_path / "pipe.o").stdout


def test_groups_that_somebody_wrote_keep_their_members(tmp_path: Path) -> None:
    own = '[[type]]\nname = "pipe"\nreason = "ours"\n[[type.group]]\nname = "rx"\nmembers = ["head"]\n'
    (tmp_path / "linesmith.toml").write_text(own)

    done = linesmith("intent", compiled(tmp_path, WIDER), "--update", "--tree", tmp_path)

    assert (done.returncode, done.stdout) == (0, "")


def test_the_whole_file_goes_where_it_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text(BUDGET)
    grown = compiled(tmp_path, SOURCE.replace("name[48]", "name[60]"))

    linesmith("intent", grown, "--update", "--tree", tmp_path, "-o", tmp_path / "new.toml")

    assert (tmp_path / "new.toml").read_text() == BUDGET.replace("64  #", "128  #").replace("lines = 1", "lines = 2")
    assert (tmp_path / "linesmith.toml").read_text() == BUDGET


def test_one_file_is_updated(tmp_path: Path) -> None:
    file = tmp_path / "linesmith.toml"
    file.write_text(BUDGET)

    done = linesmith("intent", compiled(tmp_path, SOURCE), "--update", "--into", file, "--intent", file)

    assert done.returncode == 2
    assert "--into and --intent both name the file to update" in done.stderr


def test_the_line_ends_of_the_file_stay_and_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "linesmith.toml"
    file.write_bytes(BUDGET.replace("\n", "\r\n").encode())
    grown = compiled(tmp_path, SOURCE.replace("name[48]", "name[60]"))

    done = linesmith("intent", grown, "--update", "--into", file)

    assert "+bytes = 128  # was 56\n" in done.stdout
    assert b"bytes = 128  # was 56\r\nlines = 2\r\n" in file.read_bytes()


def test_what_has_to_be_done_by_hand_is_told(tmp_path: Path) -> None:
    text = '[[type]]\nname = "pipe"\nreason = "marked by __cacheline_group_begin()"\n'
    (tmp_path / "linesmith.toml").write_text(text + '[[type.group]]\nname = "rx"\nmembers = [\n"head" # first\n]\n')

    done = linesmith("intent", compiled(tmp_path, WIDER), "--update", "--tree", tmp_path)

    assert "linesmith.toml:1: group.members of pipe stays as it is" in done.stderr
    assert "make it head, tail" in done.stderr
