# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder with what a first-time user may take for something else."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from demo.example import example_program, unpacked

from linesmith.analyzer.model import ObjectBuild, Sampling
from linesmith.plugins.profiles.formats import encode
from linesmith.plugins.registry import read_profiles

# What perf begins a file with, and no more.
_PERF_DATA = b"PERFILE2" + (104).to_bytes(8, "little") + bytes(32)
_BASELINE = """{"linesmith_baseline": 99, "accepted": []}"""
_PATCH = "--- a/session_index.h\n+++ b/session_index.h\n@@ -1 +1 @@\n-no such line\n+one\n"
_OTHER_BUILD = "0123456789abcdef0123456789abcdef01234567"
# A file with the marks of a bzImage and nothing in it to boot.
_BZIMAGE = (b"".ljust(0x202, b"\0") + b"HdrS").ljust(0x400, b"\0")


def furnish(folder: Path) -> Path:
    """Make ``folder``: the example program as ``bench`` with its profile, and everything that is not quite right."""
    example_program(folder)
    _files(folder)
    _elf_files(folder)
    _profiles(folder)
    _trees(folder)
    _settings(folder)
    return folder


def _files(folder: Path) -> None:
    (folder / "notes.txt").write_text("what I wanted to remember\n")
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    (folder / "perf.data").write_bytes(_PERF_DATA)
    (folder / "baseline.json").write_text(_BASELINE)
    (folder / "plan.toml").write_text("tree = [\n")
    (folder / "wrong.patch").write_text(_PATCH)
    (folder / "bzImage").write_bytes(_BZIMAGE)
    (folder / os.fsdecode(b"caf\xe9")).write_text("text")


def _elf_files(folder: Path) -> None:
    shutil.copy(folder / "bench", folder / "stripped")
    subprocess.run(["strip", folder / "stripped"], check=True)
    whole = (folder / "bench").read_bytes()
    (folder / "cut").write_bytes(whole[: len(whole) // 2])
    (folder / "other.c").write_text("struct other { long a; } other; int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", "other.c", "-o", "other"], cwd=folder, check=True)


def _profiles(folder: Path) -> None:
    """What a machine with PMU gave for another build of the program, and a recording that was cut off."""
    (profile,) = read_profiles(folder / "bench.c2c")
    sampled = ObjectBuild("/somewhere/bench", _OTHER_BUILD)
    recorded = encode(replace(profile, sampling=Sampling(builds=(sampled,))))
    (folder / "other-build.json").write_bytes(recorded)
    (folder / "cut.json").write_bytes(recorded[: len(recorded) // 2])


def _trees(folder: Path) -> None:
    sources = folder / "sources"
    unpacked(sources)
    kernel = folder / "linux"
    (kernel / "scripts").mkdir(parents=True)
    for name in ("Kbuild", "scripts/Makefile.build"):
        (kernel / name).touch()
    (kernel / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n")
    shutil.copy(folder / "session_index.h", kernel)
    unfinished = folder / "unfinished"
    unfinished.mkdir()
    shutil.copy(folder / "session_index.h", unfinished)
    intents = folder / "intents"
    intents.mkdir()
    (intents / "linesmith.toml").write_text('[lint]\nselect = ["straddle"\n')
    (intents / "unknown-key.toml").write_text('[[type]]\nname = "session_index"\nreasn = "hot"\n')


def _settings(folder: Path) -> None:
    place = folder / "settings" / "linesmith"
    place.mkdir(parents=True)
    (place / "config.toml").write_text("format = json\n")
