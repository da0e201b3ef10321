# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith lint`` of builds: the changes of ``builds.txt``, BTF, and other machines."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from c_source import compiled
from linesmith_command import linesmith
from lint_builds import ALIGNED
from said_tables import Case, cases, filled

TEXTS = {
    "COUNTER": "struct counter { long hits; } A; struct counter c;",
    "KERNEL": "struct kmem_cache { int flags; } cache;",
    "HEAD": '[[type]]\nname = "s"\nreason = "measured"',
    "APART": ('[[type]]\nname = "s"\nreason = "measured"\n[[type.isolate]]\nmembers = ["guard"]\nfrom = ["key"]'),
    "PARTED": "struct s { long key; char pad[56]; long guard; } A s;",
    "ALIGNED": "struct s { long a; long lock A; } s; struct other { int a; } o;",
    "SESSION": "struct s { int id; long a, b; struct s *next; long lock A; } s; struct other { int a; } o;",
}


@pytest.mark.parametrize("case", cases(Path(__file__).with_name("builds.txt")), ids=str)
def test_what_is_said_of_builds(tmp_path: Path, case: Case) -> None:
    (tmp_path / "linesmith.toml").write_text("\n".join(filled(line, TEXTS) for line in case.all("i")))
    old, new = (filled(" ".join(case.all(sign)), TEXTS) for sign in "-+")
    builds = [compiled(tmp_path, new, name="new")]
    named = ["--base", compiled(tmp_path, old, name="old"), "--head", *builds] if old else builds
    options: list[str | Path] = ["--intent", tmp_path / "linesmith.toml", *" ".join(case.all("$")).split()]
    case.check(linesmith("lint", *options, *named, cache=tmp_path / "cache"))


def test_btf_alone_cannot_tell_of_alignments(tmp_path: Path) -> None:
    elf = compiled(tmp_path, filled("@ALIGNED", TEXTS), "-target", "bpf", compiler="clang-19", name="btf")
    subprocess.run(["llvm-strip-19", "-g", elf], check=True)
    done = linesmith("lint", elf, cache=tmp_path / "cache")
    assert "BTF has no alignment attributes" in done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("pahole") is None, reason="pahole is not installed (Debian package dwarves)")
def test_raw_btf_says_no_machine_so_none_is_told_as_another(tmp_path: Path) -> None:
    elf, blob = compiled(tmp_path, ALIGNED), tmp_path / "blob"
    subprocess.run(["pahole", f"--btf_encode_detached={blob}", elf], check=True)
    done = linesmith("lint", "--base", blob, "--head", elf, cache=tmp_path / "cache")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("note: ")] == [
        ("note: BTF has no alignment attributes and no source lines, so lost alignments are not reported; give DWARF")
    ]


def test_builds_for_two_machines_are_remarked(tmp_path: Path) -> None:
    native = compiled(tmp_path, ALIGNED, name="native")
    foreign = compiled(tmp_path, ALIGNED, compiler="aarch64-linux-gnu-gcc", name="foreign")
    done = linesmith("lint", "--base", native, "--head", foreign, cache=tmp_path / "cache")
    assert "the builds are for" in done.stdout + done.stderr
