# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent --update`` on request: limits that go down, names that a change gave records and members."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith

SOURCE = """\
struct counts { long in; long out; };
struct pipe {
  long head;
  long tail;
  int flags;
  void *owner;
  struct counts counts[2];
  char name[48];
};
struct pipe pipe;
"""
INTENT = """\
# kept by us
[[type]]
name = "pipe"
reason = "head and tail, as measured"
hot = ["head", "tail", "counts[1].out"]
write-hot = ["tail"]

[type.budget]
bytes = 512
lines = 3  # two would do
objects-per-slab = 1

[[type.group]]
name = "ends"
members = ["head", "tail"]
bytes = 64

[[type.isolate]]
members = ["tail"]
from = ["owner"]
phases = 1.0

[[suppress]]
rule = "straddle"
type = "pipe"
member = "tail"
reason = "cold"
"""


def compiled(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["gcc", "-g", "-c", f"{name}.c"], cwd=folder, check=True)
    return folder / f"{name}.o"


def updated(folder: Path, new: str, *options: str | Path, intent: str = INTENT, old: str = SOURCE) -> tuple[str, str]:
    """The lines of the diff that add something, and what is said on standard error."""
    (folder / "linesmith.toml").write_text(intent)
    base, head = compiled(folder, "old", old), compiled(folder, "new", new)
    followed = () if "--tighten" in options else ("--base", base)
    done = linesmith("intent", head, "--update", "--tree", folder, *followed, *options)
    assert done.returncode in (0, 1), done.stderr
    added = [line for line in done.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return "\n".join(added), done.stderr


def test_wide_limits_go_down_when_that_is_asked_for(tmp_path: Path) -> None:
    """Bytes keep the room to grow that a new entry gets: a sixteenth of 112, in whole lines."""
    added, _ = updated(tmp_path, SOURCE, "--tighten")
    assert added == "+bytes = 128\n+lines = 2  # two would do\n+bytes = 16"


def test_a_limit_that_is_met_exactly_stays(tmp_path: Path) -> None:
    narrow = INTENT.replace("512", "128").replace("lines = 3", "lines = 2").replace("bytes = 64", "bytes = 16")
    assert updated(tmp_path, SOURCE, "--tighten", intent=narrow) == ("", "")


def test_without_being_asked_limits_only_go_up(tmp_path: Path) -> None:
    assert updated(tmp_path, SOURCE) == ("", "")


def test_entries_go_with_a_record_that_got_another_name(tmp_path: Path) -> None:
    added, said = updated(tmp_path, SOURCE.replace("pipe", "duct"))
    assert added == '+name = "duct"\n+type = "duct"'
    assert "struct pipe is gone, and struct duct, which is new, has 6 of its 6 members" in said


def test_an_entry_whose_record_is_gone_without_a_trace_is_told(tmp_path: Path) -> None:
    added, said = updated(tmp_path, "struct other { char c; } other; struct counts { long in; long out; } counts;")
    assert (added, said) == ("", "linesmith: linesmith.toml:2: pipe is gone, and its entry stays as it is\n")


def test_a_member_that_is_gone_without_a_trace_is_told(tmp_path: Path) -> None:
    added, said = updated(tmp_path, SOURCE.replace("long tail;", "char last;"))
    assert (added, said) == (
        "",
        "linesmith: linesmith.toml:2: tail of pipe is not there, and its name stays as it is\n",
    )


def test_every_list_goes_with_a_member_that_got_another_name(tmp_path: Path) -> None:
    added, said = updated(tmp_path, SOURCE.replace("tail;", "end;"))
    assert added.splitlines() == [
        '+hot = ["head", "end", "counts[1].out"]',
        '+write-hot = ["end"]',
        '+members = ["head", "end"]',
        '+members = ["end"]',
        '+member = "end"',
    ]
    assert "tail of pipe is called end now" in said


@pytest.mark.parametrize(
    ("new", "name"),
    [
        (SOURCE.replace("long out;", "long sent;"), "counts[1].sent"),
        (SOURCE.replace("counts[2];", "seen[2];"), "seen[1].out"),
    ],
)
def test_a_path_goes_with_each_of_its_parts(tmp_path: Path, new: str, name: str) -> None:
    assert f'+hot = ["head", "tail", "{name}"]' in updated(tmp_path, new)[0]


def test_members_that_lie_where_others_of_their_type_lay_are_these(tmp_path: Path) -> None:
    added, _ = updated(tmp_path, SOURCE.replace("head;", "first;").replace("tail;", "last;"))
    assert '+members = ["first", "last"]' in added


@pytest.mark.parametrize(
    "new",
    [
        SOURCE.replace("long tail;", "unsigned tail_;"),  # another type
        SOURCE.replace("  long tail;\n", ""),  # gone
        SOURCE.replace("long tail;", "long end; long ending;"),  # either could be it
        SOURCE.replace("  long tail;\n", "").replace("void *owner;", "void *owner; long tail_;"),  # elsewhere
    ],
)
def test_what_may_be_another_member_is_not_followed(tmp_path: Path, new: str) -> None:
    added, said = updated(tmp_path, new)
    assert ("tail_" in added, "ending" in added, "called" in said) == (False, False, False)


def test_a_record_whose_new_name_has_an_entry_is_left_alone(tmp_path: Path) -> None:
    both = f'{INTENT}\n[[type]]\nname = "duct"\nreason = "new"\n'
    assert updated(tmp_path, SOURCE.replace("pipe", "duct"), intent=both)[0] == ""


def test_limits_are_those_of_the_record_under_its_new_name(tmp_path: Path) -> None:
    added, _ = updated(tmp_path, SOURCE.replace("pipe", "duct").replace("name[48]", "name[160]"))
    assert added == '+name = "duct"\n+lines = 4  # two would do\n+type = "duct"'


def test_what_has_to_be_done_by_hand_is_told_of_suppressions_too(tmp_path: Path) -> None:
    inline = 'suppress = [{rule = "straddle", type = "pipe", reason = "cold"}]\n'
    added, said = updated(tmp_path, SOURCE.replace("pipe", "duct"), intent=inline)
    assert added == ""
    assert "linesmith.toml:1: type of what is accepted of pipe stays as it is" in said
    assert "make it duct" in said


def test_what_has_to_be_done_by_hand_is_told_under_the_name_that_the_file_gets(tmp_path: Path) -> None:
    marked = """\
struct %s {
  char __cacheline_group_begin__ends[0];
  long head, tail;
  char __cacheline_group_end__ends[0];
  void *owner;
} it;
struct stays { long it; } stays;
"""
    text = '[[type]]\nname = "pipe"\nreason = "marked by __cacheline_group_begin()"\n'
    kept = text + '[[type.group]]\nname = "ends"\nmembers = [\n"head" # ours\n]\n'
    added, said = updated(tmp_path, marked % "duct", intent=kept, old=marked % "pipe")
    assert added == '+name = "duct"'
    assert "linesmith.toml:1: group.members of duct stays as it is" in said


@pytest.mark.parametrize("option", ["--base", "--tighten"])
def test_how_to_update_is_said_of_an_update_only(tmp_path: Path, option: str) -> None:
    elf = compiled(tmp_path, "old", SOURCE)
    value = (elf,) if option == "--base" else ()
    done = linesmith("intent", elf, "--check", "--tree", tmp_path, option, *value)
    assert done.returncode == 2
    assert f"{option} says how --update goes about it" in done.stderr
