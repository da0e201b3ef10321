# SPDX-License-Identifier: GPL-2.0-or-later
"""Records that a build does not have any more."""

from __future__ import annotations

import subprocess
from pathlib import Path

from c_source import compiled
from linesmith_command import linesmith

ALIGNED = "struct s { long a; long lock __attribute__((aligned(64))); } s; struct other { int a; } o;"
INTENT = '[[type]]\nname = "s"\nreason = "measured"\nhot = ["lock"]\n'


def told(folder: Path, old: str | None, new: str, intent: str = "") -> tuple[int, str]:
    """Exit status and text of a lint of one build, or of two."""
    (folder / "linesmith.toml").write_text(intent)
    head = compiled(folder, new, name="new")
    builds = [head] if old is None else ["--base", compiled(folder, old, name="old"), "--head", head]
    done = linesmith("lint", "--intent", folder / "linesmith.toml", *builds, cache=folder / "cache")
    return done.returncode, done.stdout + done.stderr


def test_an_intent_of_a_record_that_is_gone_is_stale(tmp_path: Path) -> None:
    status, text = told(tmp_path, ALIGNED, ALIGNED.replace("struct s ", "struct renamed "), INTENT)
    assert status == 1
    assert "WARNING: s: no struct or union is called so" in text


def test_a_tuned_record_that_is_gone_is_remarked(tmp_path: Path) -> None:
    status, text = told(tmp_path, ALIGNED, ALIGNED.replace("struct s ", "struct renamed "))
    assert status == 0
    assert "records that count as tuned are gone, or have another name that nothing guards: s" in text


SESSION = "struct s { int id; long a, b; struct s *next; long lock %s; } s; struct other { int a; } o;"
LINE = "__attribute__((aligned(64)))"


def named_anew(members: str) -> str:
    """The source of ``SESSION``, its record being called otherwise, with these members of its own."""
    return members.replace("struct s ", "struct session ")


def test_a_tuned_record_with_another_name_is_judged_as_the_same(tmp_path: Path) -> None:
    status, text = told(tmp_path, SESSION % LINE, named_anew(SESSION % ""))
    assert status == 1
    assert "struct session: lock was aligned to 64 bytes and is not any more [alignment-lost]" in text
    same = "struct s is gone, and struct session, which is new, has 5 of its 5 members: it is judged as the same record"
    assert text.count(same) == 1
    assert "1 warning in 2 records, 1 changed, 1 watched" in text
    assert "have another name that nothing guards" not in text


def test_intents_of_the_old_name_hold_for_the_new_one(tmp_path: Path) -> None:
    apart = '[[type]]\nname = "s"\nreason = "measured"\n[[type.isolate]]\nmembers = ["lock"]\nfrom = ["a"]\n'
    status, text = told(tmp_path, SESSION % "", named_anew(SESSION % "").replace("long a, b;", "long b, a;"), apart)
    assert status == 1
    assert "no struct or union is called so; struct session, which is new, has 5 of its 5 members" in text
    assert "members, and is judged as the same record [intent-stale]" in text
    assert text.count("judged as the same record") == 1
    assert "given both builds, `linesmith intent NEW --update --base OLD` does" in text
    moved = "a went from byte 8 (line 0) to byte 16 (line 0)"
    assert f"struct session: lock can share a line with a in 6 of 8 phases; {moved} [isolation-broken]" in text


def test_of_two_records_that_are_like_it_none_is_the_same(tmp_path: Path) -> None:
    second = named_anew(SESSION % "").replace("session", "circle").replace("} s;", "} c;").partition("struct other")[0]
    _, text = told(tmp_path, SESSION % LINE, second + named_anew(SESSION % ""))
    assert "have another name that nothing guards: s" in text


def test_a_record_of_other_members_is_another_one(tmp_path: Path) -> None:
    _, text = told(
        tmp_path, SESSION % LINE, "struct t { int id; long x, y, z; long lock; } t; struct other { int a; } o;"
    )
    assert "have another name that nothing guards: s" in text


def test_records_that_nobody_tuned_are_not_paired(tmp_path: Path) -> None:
    status, text = told(
        tmp_path, SESSION % "", named_anew(SESSION % "").replace("int id; long a, b;", "long a, b; int id;")
    )
    assert (status, "judged as the same" in text) == (0, False)


def test_a_tag_that_became_a_typedef_is_the_same_record(tmp_path: Path) -> None:
    status, text = told(tmp_path, ALIGNED, "typedef struct { long a; long lock; } s; s x; struct other { int a; } o;")
    assert status == 1
    assert "lock was aligned to 64 bytes and is not any more [alignment-lost]" in text


def test_a_single_build_says_what_it_cannot_judge(tmp_path: Path) -> None:
    status, text = told(tmp_path, None, "struct other { int a; } o;", INTENT)
    assert status == 0
    assert "nothing is judged of s, which the intents name and this build does not have" in text


def test_builds_of_different_programs_are_refused(tmp_path: Path) -> None:
    status, text = told(tmp_path, "struct s { int a; } s;", "struct t { int a; } t;")
    assert status == 2
    assert "has none of the records of the base" in text


def test_btf_alone_cannot_tell_of_alignments(tmp_path: Path) -> None:
    elf = compiled(tmp_path, ALIGNED, "-target", "bpf", compiler="clang-19", name="btf")
    done = linesmith("lint", stripped(elf), cache=tmp_path / "cache")
    assert "BTF states no alignments and no places" in done.stdout + done.stderr


def stripped(elf: Path) -> Path:
    """The file with its BTF and without its DWARF."""
    subprocess.run(["llvm-strip-19", "-g", elf], check=True)
    return elf


def test_builds_for_two_machines_are_remarked(tmp_path: Path) -> None:
    native = compiled(tmp_path, ALIGNED, name="native")
    foreign = compiled(tmp_path, ALIGNED, compiler="aarch64-linux-gnu-gcc", name="foreign")
    done = linesmith("lint", "--base", native, "--head", foreign, cache=tmp_path / "cache")
    assert "the builds are for" in done.stdout + done.stderr
