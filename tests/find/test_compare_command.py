# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith compare`` as a user meets it: a mail with two reports, before a change and after it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from documented import obeys
from find.lines import Built
from linesmith_command import linesmith
from perf_data.hardware import INTEL
from perf_data.program import Program
from perf_data.recording import write
from perf_data.write import program_recording

from linesmith.analyzer.model import Recording
from linesmith.plugins.profiles.recorded import encode
from linesmith.plugins.registry import read_profiles

TEXTS = Path(__file__).with_name("texts")

MAIL = (TEXTS / "mail.txt").read_text()


Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    (tmp_path / "mail.txt").write_text(MAIL)
    return tmp_path / "mail.txt"


@pytest.fixture
def compared(built: Built, mail: Path) -> Ran:
    """Compares the two reports of the mail, or other files; without the paths of folders."""
    elf = built("program.c")

    def run(*arguments: str | Path, files: tuple[Path, Path] = (mail, mail)) -> tuple[int, str, str]:
        ran = linesmith("compare", elf, *files, *arguments, cache=mail.parent / "cache")
        return ran.returncode, ran.stdout.replace(f"{mail.parent}/", ""), ran.stderr.replace(f"{mail.parent}/", "")

    return run


def test_two_reports_of_one_mail(compared: Ran) -> None:
    assert compared() == (0, (TEXTS / "compare.txt").read_text(), "")
    other_way = compared("--section", "2", "--after-section", "1")[1]
    assert "new            tree  0 -> 200" in other_way


def test_the_second_build_may_be_another(compared: Ran, built: Built, mail: Path) -> None:
    other = mail.with_name("other.o")
    other.write_bytes(built("program.c").read_bytes())
    document = json.loads(compared("--after-elf", other, "--format", "json")[1])
    assert [Path(document[side]["elf"]["path"]).name for side in ("before", "after")] == ["program", "other.o"]


def test_the_json_obeys_the_schema_of_the_documentation(compared: Ran) -> None:
    document = json.loads(compared("--format", "json")[1])
    obeys(document, "compare")
    found = [(one["functions"][0], one["change"]["fate"]) for one in document["functions"]]
    assert found == [("lock_spin_on_owner", "fell"), ("lock_slowpath", "fell"), ("tree_insert", "vanished")]


def test_a_report_that_the_text_does_not_hold_is_refused(compared: Ran, mail: Path) -> None:
    status, _, errors = compared("--after-section", "3")
    assert (status, "mail.txt holds 2 reports, so --after-section 3 does not exist" in errors) == (2, True)
    mail.write_text(MAIL[: MAIL.index("After:")])
    shutil.rmtree(mail.parent / "cache", ignore_errors=True)
    status, _, errors = compared()
    assert status == 2
    assert "mail.txt holds 1 report, and no other report follows report 1" in errors
    assert "a file named twice must hold two reports" in errors
    assert not (mail.parent / "cache").exists(), "told before anything is made"


@pytest.mark.parametrize("text", ["0", "3,x", "1,2,3", "nan", "-4", "1e-300", "inf"])
def test_what_is_no_number_of_operations_is_refused(compared: Ran, text: str) -> None:
    status, _, errors = compared("--operations", text)
    assert (status, "is not a number of operations" in " ".join(errors.split())) == (2, True)


def test_that_neither_profile_holds_a_type_is_an_answer(compared: Ran) -> None:
    assert "mapping: 1,000 -> 0 contended" in compared("--type", "struct mapping")[1]
    status, told, _ = compared("--type", "nothing")
    assert (status, "holds nothing; leave out --type" in told) == (0, True)


def test_of_a_line_without_rows_the_report_says_so(compared: Ran, mail: Path) -> None:
    line = "     1       0     9000       0        0        0      0x7f2280\n"
    rule = f"  {'-' * 70}\n"
    mail.write_text(MAIL.replace("\nAfter:", f"{rule}{line}{rule}\nAfter:"))
    assert "before: 9,000 contended accesses stand in no row" in " ".join(compared()[1].split())


@pytest.mark.parametrize("swapped", [False, True])
def test_a_simulation_is_not_compared_with_samples(compared: Ran, mail: Path, swapped: bool) -> None:
    recorded = mail.with_name("recorded.profile")
    recording = Recording("qemu-user", ("./program",), (0, 0), "x86_64")
    recorded.write_bytes(encode(replace(read_profiles(mail)[0], recording=recording)))
    status, _, errors = compared(files=(recorded, mail) if swapped else (mail, recorded))
    assert status == 2
    assert "recorded.profile counts every access of a simulation and" in errors
    assert "mail.txt has samples" in errors


def test_two_recordings_of_one_program(server: Path, tmp_path: Path) -> None:
    for seed, samples in ((1, 4000), (2, 6000)):
        write(tmp_path / f"{seed}.data", program_recording(Program(server), INTEL, samples, seed)[0])
    done = linesmith("compare", server, tmp_path / "1.data", tmp_path / "2.data", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["exposure"] == {"unit": "samples", "before": 4000.0, "after": 6000.0, "scatter": 0.0}
    rows = (one for held in document["objects"] for one in held["members"] if one["member"])
    members = {(one["type"], one["member"]): one["change"]["fate"] for one in rows}
    assert {("counters", "requests"), ("counters", "state"), ("connection", "references")} <= members.keys()
    assert Counter(members.values()) == {"stayed": len(members)}
