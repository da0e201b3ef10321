# SPDX-License-Identifier: GPL-2.0-or-later
"""Sound files cut off or changed at many places: each is read or refused, and none crashes the reader."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from elf.objects import compiled

# Reads every file of a directory in one process and prints one word for each.
_READ_ALL = """
import pathlib, sys
from linesmith.analyzer import _native
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        reader = _native.read_btf if sys.argv[2] == "BTF" else lambda path: _native.read_dwarf(path, 1)
        reader(str(file)).all_json()
        print("read")
    except _native.NativeError as error:
        kind, message = error.args
        assert str(file) in message and "\\n" not in message, message
        print(kind)
"""

ERRORS = {"ElfError", "DebugInfoMissing", "DebugInfoDamaged"}


def outcomes(folder: Path, reader: str) -> Counter[str]:
    """How reading each file of ``folder`` ended; a crash of the child fails the test."""
    child = [sys.executable, "-c", _READ_ALL, str(folder), reader]
    ran = subprocess.run(child, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, (ran.returncode, ran.stdout.splitlines()[-1:], ran.stderr[-2000:])
    return Counter(ran.stdout.split())


def cuts(whole: bytes, folder: Path, count: int) -> Path:
    """``count`` files that hold the first bytes of ``whole``, evenly spaced, none of them whole."""
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}").write_bytes(whole[: len(whole) * number // count])
    return folder


def changed(whole: bytes, folder: Path, count: int) -> Path:
    """``count`` copies of ``whole`` with a few bytes replaced, the same ones in every run."""
    folder.mkdir()
    chance = random.Random(len(whole))  # noqa: S311
    for number in range(count):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(len(content))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        (folder / f"{number:04}").write_bytes(content)
    return folder


OBJECTS = [(compiler, flags) for compiler in ("gcc", "clang-19") for flags in ("-gdwarf-4", "-gdwarf-5", "-gz=zlib")]
QUICK = {("gcc", "-gdwarf-5"), ("clang-19", "-gdwarf-4"), ("gcc", "-gz=zlib")}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [pytest.param(*one, marks=[] if one in QUICK else [pytest.mark.study]) for one in OBJECTS],
)
def test_object_cut_anywhere_or_with_changed_bytes(tmp_path: Path, compiler: str, flags: str) -> None:
    whole = compiled(tmp_path, flags, compiler=compiler).read_bytes()
    cut = outcomes(cuts(whole, tmp_path / "cuts", 200), "DWARF")
    assert (cut.total(), set(cut) - ERRORS) == (200, set())
    found = outcomes(changed(whole, tmp_path / "changed", 250), "DWARF")
    assert (found.total(), set(found) - ERRORS - {"read"}) == (250, set())


def test_btf_cut_anywhere_or_with_changed_bytes(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    subprocess.run(["pahole", f"--btf_encode_detached={blob}", compiled(tmp_path)], check=True)
    cut = outcomes(cuts(blob.read_bytes(), tmp_path / "cuts", 200), "BTF")
    assert (cut.total(), set(cut) - {"ElfError", "DebugInfoDamaged"}) == (200, set())
    found = outcomes(changed(blob.read_bytes(), tmp_path / "changed", 250), "BTF")
    assert (found.total(), set(found) - ERRORS - {"read"}) == (250, set())
