# SPDX-License-Identifier: GPL-2.0-or-later
"""Two profiles compared: rows are the same by record and member, exact counts are exact, and chance is no change.

The command is shown a mail with two reports, before a change and after it.
"""

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
from hand_made import finding, hot, scalar, struct
from linesmith_command import linesmith
from perf_data.hardware import INTEL
from perf_data.image import Program
from perf_data.program_scenario import program_recording
from perf_data.recording import write

from linesmith.analyzer.comparison.compare import ProfileFindings, compare
from linesmith.analyzer.model import (
    Bounds,
    CacheLine,
    Fate,
    Finding,
    LineCost,
    LineMember,
    LineObject,
    MemberFunction,
    Outcome,
    Profile,
    ProfileChange,
    Recording,
    SharingCost,
    Side,
    Triage,
    TriageKind,
)
from linesmith.plugins.profiles.formats import encode
from linesmith.plugins.registry import read_profiles

TREE = struct("mapping", scalar("tree"), scalar("lock"), scalar("flags"))
MOVED = struct("mapping", scalar("tree"), scalar("flags"), scalar("lock"))


def explained(*found: Finding, records: int | None = 100_000) -> ProfileFindings:
    each = records and records // len(found)
    lines = tuple(CacheLine(one.rank, None, (), hitm_local=one.contended, records=each) for one in found)
    return ProfileFindings(Profile("test", "", "hitm", lines), found)


def recorded(*found: Finding, command: tuple[str, ...] = ("./storm", "8")) -> ProfileFindings:
    one = explained(*found)
    return replace(one, profile=replace(one.profile, recording=Recording("qemu", command, (0, 0), "m")))


def mapping(tree: int = 0, lock: int = 0, rank: int = 0) -> Finding:
    """A line of a mapping with so many contended loads of its members."""
    members = [hot("tree", 0, 8, tree), hot("lock", 8, 8, lock)]
    return finding(TREE, [one for one in members if one.reads], rank=rank)


def meeting(misses: int, victim: str = "tree", writer: str = "lock", rank: int = 0) -> Finding:
    """A line of a recording on which one member waits for another."""
    exact = Bounds(misses, misses)
    sharing = SharingCost(Side(victim, misses, 0, ("walk",)), Side(writer, 0, misses), exact, exact)
    return replace(mapping(misses, rank=rank), cost=LineCost(sharings=(sharing,), exact=True))


def unknown(functions: dict[str, int], rank: int = 0) -> Finding:
    """A line of which only functions are known."""
    members = tuple(
        LineMember(f"{at:#x}", at, None, None, count, 0, (MemberFunction(name, count, 0),))
        for at, (name, count) in enumerate(functions.items())
    )
    nothing = LineObject("", None, 0, 0.0, Outcome.CANNOT_TELL)
    total = sum(functions.values())
    return Finding(rank, None, 1.0, total, 0, (nothing,), members, Triage((TriageKind.UNKNOWN,), (), ""))


def waited_for(one: Finding, *functions: str) -> Finding:
    """The same line with its members used by these functions."""
    members = zip(one.members, functions, strict=True)
    named = (replace(it, functions=(MemberFunction(name, it.reads, 0),)) for it, name in members)
    return replace(one, members=tuple(named))


def rows(found: ProfileChange) -> str:
    """What became of the members of the first object."""
    changes = {f"{one.member}{one.writer and ' by ' + one.writer}": one.change for one in found.objects[0].members}
    return ", ".join(f"{name} {one.before} -> {one.after} {one.fate.name}" for name, one in sorted(changes.items()))


def test_a_member_that_left_the_line_has_vanished_and_the_others_stayed() -> None:
    after = finding(MOVED, [hot("flags", 8, 8, 90), hot("lock", 16, 8, 5000)])
    found = compare(explained(mapping(700, 5000)), explained(after))
    assert rows(found) == "flags 0 -> 90 NEW, lock 5000 -> 5000 STAYED, tree 700 -> 0 VANISHED"


def test_samples_are_compared_by_how_many_were_taken_with_an_interval() -> None:
    found = compare(explained(mapping(0, 5000)), explained(mapping(0, 5000), records=200_000))
    change = found.objects[0].change
    assert (found.exposure.unit, change.fate) == ("samples on shared lines", Fate.FELL)
    assert change.ratio is not None
    assert 0.48 < change.ratio.least < 0.5 < change.ratio.most < 0.52  # 80 %


def test_a_difference_that_chance_explains_is_none() -> None:
    found = compare(explained(mapping(100, 3)), explained(mapping(120)))
    assert rows(found) == "lock 3 -> 0 UNCLEAR, tree 100 -> 120 STAYED"


def test_objects_of_one_record_are_one_row_with_their_number() -> None:
    found = compare(explained(*(mapping(0, 40, rank) for rank in range(5))), explained(mapping(0, 40, rank=3)))
    assert [(one.type, one.objects) for one in found.objects] == [("mapping", (5, 1))]
    assert rows(found) == "lock 200 -> 40 FELL"


def test_an_unknown_line_is_never_taken_for_a_known_one() -> None:
    """Whatever its functions are: only that the member has vanished is in doubt then."""
    before = waited_for(mapping(700, 5000), "walk", "wait")
    found = compare(explained(before), explained(unknown({"wait": 685})))
    assert [one.type for one in found.objects] == ["mapping", ""]
    assert rows(found) == "lock 5000 -> 0 UNSEEN, tree 700 -> 0 VANISHED"
    functions = {one.functions[0]: (one.change.before, one.change.after, one.change.fate) for one in found.functions}
    assert functions == {"wait": (5000, 685, Fate.FELL), "walk": (700, 0, Fate.VANISHED)}


@pytest.mark.parametrize("nameless", [699, 700])
def test_nothing_vanishes_into_lines_without_names_that_are_large_enough(nameless: int) -> None:
    found = compare(explained(mapping(700)), explained(unknown({"[unknown]": nameless})))
    assert found.objects[0].change.fate is (Fate.UNSEEN if nameless == 700 else Fate.VANISHED)


def test_a_sentence_says_what_the_counts_cannot() -> None:
    one, other = (explained(unknown({"wait": 100}), records=None) for _ in range(2))
    assert any("neither report has the number of samples" in caution for caution in compare(one, other).cautions)
    peer = replace(other, profile=replace(other.profile, display="peer"))
    assert any("cannot be compared" in caution for caution in compare(one, peer).cautions)


# Recordings: their counts are exact.


def test_exact_counts_are_shown_by_who_waits_for_whom_and_without_intervals() -> None:
    found = compare(recorded(meeting(5000)), recorded(meeting(4900), meeting(300, "tree", "flags", rank=1)))
    assert (found.exact, found.functions) == (True, ())
    assert rows(found) == "tree by flags 0 -> 300 NEW, tree by lock 5000 -> 4900 STAYED"
    assert all(one.ratio is None for one in (found.total, *(row.change for row in found.objects[0].members)))


def test_what_unchanged_rows_differ_by_is_no_change() -> None:
    found = compare(recorded(meeting(2000)), recorded(meeting(2500)))
    assert found.objects[0].members[0].change.fate is Fate.STAYED
    assert "whose variance is 5.0 times the count" in found.cautions[0]


def test_runs_of_different_length_are_compared_by_operation() -> None:
    runs = recorded(meeting(20_000)), recorded(meeting(40_100), command=("./storm", "16"))
    assert compare(*runs).objects[0].change.fate is Fate.ROSE
    assert any("--operations N,M" in one for one in compare(*runs).cautions)
    found = compare(*runs, (1000, 2000))
    assert (found.exposure.unit, found.objects[0].change.fate) == ("operations", Fate.STAYED)
    assert not any("--operations" in one for one in found.cautions)


@pytest.mark.parametrize(("writer", "elsewhere"), [("slot[3]", False), ("slot[4]", True)])
def test_elements_of_an_array_are_one_row_and_told_apart_from_one_alone(writer: str, elsewhere: bool) -> None:
    found = compare(recorded(meeting(9, "slot[3]", writer)), recorded(meeting(9, "slot[7]", "slot[8]")))
    row = found.objects[0].members[0]
    assert (row.member, row.writer, row.elsewhere) == ("slot[]", "slot[]", elsewhere)


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
        write(tmp_path / f"{seed}.data", program_recording(Program(server), INTEL, samples, seed))
    done = linesmith("compare", server, tmp_path / "1.data", tmp_path / "2.data", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["exposure"] == {"unit": "samples", "before": 4000.0, "after": 6000.0, "scatter": 0.0}
    rows = (one for held in document["objects"] for one in held["members"] if one["member"])
    members = {(one["type"], one["member"]): one["change"]["fate"] for one in rows}
    assert {("counters", "requests"), ("counters", "state"), ("connection", "references")} <= members.keys()
    assert Counter(members.values()) == {"stayed": len(members)}
