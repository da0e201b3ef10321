# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith hot`` as a user meets it: a compiled program, a pasted report, text and JSON."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from documented import obeys
from find.lines import Built
from linesmith_command import linesmith
from perf_data.hardware import INTEL
from perf_data.image import Program
from perf_data.program_scenario import program_recording
from perf_data.recording import write

from linesmith.plugins.registry import read_profiles

TEXTS = Path(__file__).with_name("texts")

REPORT = (TEXTS / "report.txt").read_text()


@pytest.fixture
def folder(tmp_path: Path, built: Built) -> Path:
    (tmp_path / "program.o").symlink_to(built("program.c"))
    (tmp_path / "report.txt").write_text(REPORT)
    return tmp_path


def hot(folder: Path, *arguments: str, command: str = "hot") -> tuple[int, str, str]:
    ran = linesmith(command, folder / "program.o", folder / "report.txt", *arguments, cache=folder / "cache")
    return ran.returncode, ran.stdout.replace(f"{folder}/", ""), ran.stderr


def test_the_text(folder: Path) -> None:
    ran = linesmith("hot", "program.o", "report.txt", "--type", "mapping", cwd=folder, cache=folder / "cache")
    assert (ran.returncode, ran.stderr) == (0, "")
    settled = re.sub(r"[\d.]+%\s+likely[^()]*\(phase \d+\)", "SURE", ran.stdout)
    assert settled == (TEXTS / "hot.txt").read_text()


def test_the_first_screen_says_what_meets_and_what_to_do_next(folder: Path) -> None:
    shown = hot(folder)[1]
    assert shown.startswith("report.txt (as measured on the build server) on program.o: 100.0% of 200 contended loads")
    command = re.sub(r" \\\n +", " ", shown)
    assert re.search(r"\nnext: linesmith suggest \S*program\.o \S*report\.txt --type mapping\n", command)
    assert max(map(len, shown.splitlines())) <= 100
    assert "\nline 0 at 0x7f2210" in hot(folder, "--full")[1]


def test_kernel_lines_with_the_elf_of_a_program_say_which_file_to_give(folder: Path) -> None:
    (folder / "report.txt").write_text(REPORT.replace("[.]", "[k]"))
    reason = "the ELF file is a program; give the kernel's vmlinux instead of it for such lines"
    assert reason in " ".join(hot(folder)[1].split())
    assert reason in " ".join(hot(folder, command="suggest")[1].split())


def test_the_json_obeys_the_schema_of_the_documentation(folder: Path) -> None:
    document = json.loads(hot(folder, "--format", "json")[1])
    obeys(document, "hot")
    (line,) = document["lines"]
    told = line["objects"][0]
    assert (line["rank"], line["share"], told["type"], told["phase"]) == (0, 1.0, "mapping", 0)
    first = line["members"][0]
    assert (first["path"], first["offset"], first["functions"]) == ("tree.root", 0x18, ["tree_insert"])
    assert line["triage"]["kinds"] == ["false sharing", "lock contention"]
    assert line["cost"]["removable"] == {"least": 0.0, "most": 200.0}
    assert document["accounts"] == {"samples": 294, "outcomes": {"resolved": 294}}


@pytest.mark.parametrize(
    ("variables", "set_", "there"),
    [
        ({}, "", True),
        ({"LINESMITH_DEADLINE": "7"}, "", True),
        ({}, "deadline = 9", True),
        ({}, "format = 'json'", True),
        ({"LINESMITH_CPUS": "2"}, "", False),
        ({}, "cpus = 2", False),
        ({"LINESMITH_SUGGEST_CPUS": "none"}, "", False),
    ],
)
def test_what_suggest_said_is_shown_where_it_would_say_so_again(
    variables: dict[str, str], set_: str, there: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record() -> dict[str, Any]:
        document = json.loads(hot(folder, "--format", "json")[1])
        obeys(document, "hot")
        found: dict[str, Any] = document["records"][0]
        return found

    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    before = record()
    hot(folder, command="suggest")
    after = record()
    assert (before["suggested"], after) == (None, {**before, "suggested": after["suggested"]})
    (folder / "linesmith").mkdir()
    (folder / "linesmith" / "config.toml").write_text(f"[defaults]\n{set_}\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert record()["suggested"] == (after["suggested"] if there else None)
    hot(folder, command="suggest")
    assert (record()["suggested"] is None) == ("none" in variables.values())


def test_lines_of_one_record_are_one_row_and_three_of_a_place_are_shown_in_full(folder: Path) -> None:
    title, _, line = REPORT.partition("\n")
    lines = (line.replace("0      40", f"{rank}      40").replace("7f2210", f"7f2{rank}10") for rank in range(5))
    (folder / "report.txt").write_text(f"{title}\n{''.join(lines)}")
    assert "\n100.0%   unknown  mapping: 5 lines " in hot(folder)[1]
    shown = hot(folder, "--type", "mapping")[1]
    assert [f"\nline {rank} at " in shown for rank in range(5)] == [True] * 3 + [False] * 2
    assert "… and 2 more lines like these (mapping, from byte 0 on): 3, 4; --format json has each" in shown
    assert "\nline 4 at 0x7f2410" in hot(folder, "--line", "4")[1]
    assert hot(folder, "--line", "7")[::2] == (
        2,
        f"linesmith: {folder}/report.txt has no line 7; `linesmith hot --full` lists them\n",
    )


def test_a_report_of_totals_only_names_no_members(folder: Path) -> None:
    table = "      0  0xff1100088366d880  0  10  50.00%  20  10  10  40  30  10  10  0  5  5  0  5  10  0  0  0  0\n"
    (folder / "report.txt").write_text("Shared Data Cache Line Table\n" + table)
    status, _, errors = hot(folder)
    assert status == 2
    assert "no offsets" in errors


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        # what a program touches itself is not inside a lock of the library
        ([(0x18, 20, "book_search"), (0x20, 50, "__pthread_rwlock_rdlock"), (0x3C, 30, "__pthread_rwlock_rdlock")],
            ["book, begins 24 bytes into the line (phase 24 of 64)\n  evidence  resolved:", "of root with lock"]),
        # words of a lock have the names that the library gives them
        ([(0x18, 20, "book_search"), (0x20, 80, "__pthread_rwlock_rdlock")], ["lock.__data.__readers"]),
        # a name inside the library is the function that it stands for
        ([(0x18, 20, "book_search"), (0x20, 80, "__GI___pthread_rwlock_rdlock")],
            ["resolved: 100% of the samples explained"]),
    ],
)  # fmt: skip
def test_locks_of_the_c_library(
    rows: list[tuple[int, int, str]], shown: list[str], built: Built, tmp_path: Path
) -> None:
    rule = "  " + "-" * 70 + "\n"
    text = f"{rule}     0       0      900     600       0       0      0x7f2240\n{rule}"
    for offset, share, symbol in rows:
        where = "program" if symbol == "book_search" else "libc.so.6"
        stores = 100 if offset == 0x20 else 0
        text += f"    0.00%  {share:.2f}%  {stores:.2f}%  0.00%  0.00%  {offset:#x}  0  1  0x4011{offset:02x}  90  80  "
        text += f"70  100  4  [.] {symbol}  {where}  a.c:5  0\n"
    (tmp_path / "report.txt").write_text(text)
    ran = linesmith("hot", built("book.c", "-O2", "-c"), tmp_path / "report.txt", "--full", cache=tmp_path / "cache")
    assert [one for one in shown if one not in ran.stdout] == []


# An ELF note of type 3 (NT_GNU_BUILD_ID): lengths of the name and of the build-id, type, name, build-id.
NOTE = struct.pack("<3I4s20s", 4, 20, 3, b"GNU", bytes(range(20)))


@pytest.fixture(scope="module")
def sampled(server: Path) -> Path:
    write(server.with_name("perf.data"), program_recording(Program(server), INTEL, 4000, 1))
    return server.with_name("perf.data")


def test_every_line_that_may_hold_the_type_asked_for_is_looked_at(server: Path, sampled: Path) -> None:
    """And lines known to hold another one are not such as were not looked at."""
    shown = linesmith("hot", server, sampled, "--type", "connection").stdout
    assert "not looked at" not in " ".join(shown.split())
    assert re.search(r"[\d,]+ on lines that do not hold the type asked for", " ".join(shown.split()))


def test_types_that_may_be_asked_for_instead_are_also_those_of_variables(server: Path, sampled: Path) -> None:
    none = "no such type or variable"
    for asked, near in (("nosuch", ""), ("conection", " (did you mean connection?)")):
        ran = linesmith("hot", server, sampled, "--type", asked)
        found = f"holds {asked}: {none}{near}; found: connection, per_thread, counters\n"
        assert (ran.returncode, found in ran.stderr) == (2, True)


def test_another_build_is_refused_before_its_code_is_followed(server: Path, sampled: Path, tmp_path: Path) -> None:
    other, cache = tmp_path / server.name, tmp_path / "cache"
    words = ["objcopy", "--update-section", ".note.gnu.build-id=/dev/stdin", str(server), str(other)]
    subprocess.run(words, check=True, input=NOTE)
    ran = linesmith("hot", other, sampled, cache=cache)
    assert (ran.returncode, "was recorded on build-id" in ran.stderr) == (2, True)
    assert not list(cache.glob("*.access"))
    assert linesmith("hot", other, sampled, "--assume-same-layout", cache=cache).returncode == 0
    assert list(cache.glob("*.access"))


def test_a_sampled_profile_that_was_saved_says_the_same(server: Path, sampled: Path, tmp_path: Path) -> None:
    saved = tmp_path / "kept"
    saved.write_bytes(b"an older one")
    first = linesmith("hot", server, sampled, "--save", saved, "--full")
    again = linesmith("hot", server, saved, "--full")
    assert (first.returncode, first.stderr, again.returncode) == (0, f"profile: {saved}\n", 0)
    renamed = again.stdout.replace(str(saved), str(sampled)).replace("kept on ", "perf.data on ")
    assert renamed.split() == first.stdout.split()
    (before,), (after,) = read_profiles(sampled), read_profiles(saved)
    assert (after.lines, after.sampling, after.events) == (before.lines, before.sampling, before.events)


def test_an_input_is_not_replaced(server: Path, sampled: Path) -> None:
    before = sampled.read_bytes()
    done = linesmith("hot", server, "perf.data", "--save", "perf.data", cwd=server.parent)
    assert (done.returncode, "is an input of this command and is not replaced" in done.stderr) == (2, True)
    assert sampled.read_bytes() == before


# What was found is kept for the next command


KEPT_REPORT = Path(__file__).with_name("texts") / "report.txt"


@pytest.mark.parametrize("command", [("hot",), ("hot", "--type", "mapping"), ("suggest",)])
def test_an_answer_is_the_same_kept_damaged_or_new(command: tuple[str, ...], tmp_path: Path, built: Built) -> None:
    def said() -> tuple[int, str, str]:
        ran = linesmith(*command, built("program.c"), KEPT_REPORT, "--format", "json", cache=tmp_path)
        return ran.returncode, ran.stdout, ran.stderr

    first, kept = said(), list(tmp_path.glob("*.found"))
    assert first[0] == 0
    assert kept
    assert said() == first
    damages = (kept[0].read_bytes()[:-9] + bytes(9), b"", b"linesmith-found1")
    for damage in damages[: 1 if command == ("suggest",) else None]:  # it has to make up runs each time
        for one in kept:
            one.write_bytes(damage)
        assert said() == first
        assert all(one.read_bytes() != damage for one in kept)


@pytest.mark.parametrize("option", [("--growth", "0"), ("--cpus", "2"), ("--type", "mapping")])
def test_another_option_is_another_question(option: tuple[str, ...], tmp_path: Path, built: Built) -> None:
    def said(cache: str, *options: str) -> str:
        return linesmith("suggest", built("program.c"), KEPT_REPORT, *options, cache=tmp_path / cache).stdout

    said("used")
    assert said("used", *option) == said("new", *option)


def test_another_profile_or_build_is_another_question(tmp_path: Path, built: Built) -> None:
    def said(elf: Path, report: Path) -> str:
        return linesmith("hot", elf, report, "--format", "json", cache=tmp_path / "cache").stdout

    other = tmp_path / "other.txt"
    other.write_text(KEPT_REPORT.read_text().replace("tree_insert", "tree_first"))
    renamed = tmp_path / "renamed.txt"
    renamed.write_bytes(KEPT_REPORT.read_bytes())
    program = built("program.c")
    first = said(program, KEPT_REPORT)
    kept = len(list((tmp_path / "cache").glob("*.found")))
    assert said(program, renamed) == first.replace(str(KEPT_REPORT), str(renamed))
    assert len(list((tmp_path / "cache").glob("*.found"))) == kept
    assert said(program, other) != first
    assert said(built("placed.c"), KEPT_REPORT) != first
