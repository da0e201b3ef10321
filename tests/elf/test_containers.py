# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no ELF object with debug information, and sound ones cut off or changed at many places."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from elf.objects import SOURCE, Refusal, Section, compiled, elf_file, refusal
from linesmith_command import linesmith

NOT_ELF = "FILE: is not an ELF file; give a vmlinux, a module, an object file or a program"
COMPRESSED = "FILE: is compressed; unpack it with `{}` and give the result"
BOOTS = (
    "FILE: is a kernel as it boots, without its types; give the vmlinux of the same build (distributions put it "
    "into the debug package)"
)
COFF = "--- !COFF\nheader: {Machine: IMAGE_FILE_MACHINE_AMD64}\nsections: []\nsymbols: []\n"
MACH_O = (
    "--- !mach-o\nFileHeader: {magic: 0xFEEDFACF, cputype: 0x01000007, cpusubtype: 3, filetype: 1, ncmds: 0,"
    " sizeofcmds: 0, flags: 0, reserved: 0}\n"
)


def noise(seed: int, length: int) -> bytes:
    return random.Random(seed).randbytes(length)  # noqa: S311


def made_by(*command: str, text: str = "\x7fELF") -> bytes:
    """What a command writes that reads a text."""
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=300).stdout


# What the file holds, and what is said of it or the class of the error alone.
CONTENTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "xz": (lambda: made_by("xz", "-c"), COMPRESSED.format("xz -dk")),
    "gzip": (lambda: made_by("gzip", "-c"), COMPRESSED.format("gunzip -k")),
    "zstd": (lambda: made_by("zstd", "-q", "-c"), COMPRESSED.format("zstd -d")),
    "a kernel of x86 as it boots": (lambda: bytes(0x202) + b"HdrS" + bytes(100), BOOTS),
    "a kernel of Arm as it boots": (lambda: bytes(0x38) + b"ARM\x64" + bytes(100), BOOTS),
    "random bytes": (lambda: noise(1, 5000), NOT_ELF),
    "other random bytes": (lambda: noise(2, 5000), NOT_ELF),
    "the magic alone": (lambda: b"\x7fELF", "ElfError"),
    "the magic and a few bytes": (lambda: b"\x7fELF" + noise(15, 11), "ElfError"),
    "the magic and the first fields": (lambda: b"\x7fELF" + noise(16, 12), "ElfError"),
    "the magic and a part of the header": (lambda: b"\x7fELF" + noise(40, 36), "ElfError"),
    "the magic and almost a header": (lambda: b"\x7fELF" + noise(63, 59), "ElfError"),
    "a program of Windows": (lambda: made_by("yaml2obj-19", text=COFF), NOT_ELF),
    "an object of macOS": (lambda: made_by("yaml2obj-19", text=MACH_O), NOT_ELF),
    "a source file": (SOURCE.encode, NOT_ELF),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_content_that_is_no_sound_elf_file(tmp_path: Path, content: str) -> None:
    make, said = CONTENTS[content]
    file = tmp_path / "input"
    file.write_bytes(make())
    found = refusal(file)
    assert found == Refusal("ElfError", found.sentence if said == "ElfError" else said)


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    expected = "FILE: is not a regular file; give an ELF object or a raw BTF file"
    assert refusal(tmp_path / "fifo") == Refusal("ElfError", expected)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "input").touch(0o000)
    ran = linesmith("layout", tmp_path / "input")
    assert (ran.returncode, ran.stderr.endswith("input' is not readable; give another path\n")) == (2, True)


def test_archives_and_bitcode_of_link_time_optimisation(tmp_path: Path) -> None:
    made = compiled(tmp_path)
    for name, options, said in (
        ("lib.a", "cr", "FILE: is an archive; extract its members with `ar x` and give one of them"),
        ("thin.a", "crT", "FILE: is a thin archive; give one of the objects that it names (`ar t` lists them)"),
    ):
        subprocess.run(["ar", options, tmp_path / name, made], check=True)
        assert refusal(tmp_path / name) == Refusal("ElfError", said)
    bitcode = compiled(tmp_path, "-flto", compiler="clang-19")
    expected = "FILE: is LLVM bitcode, not machine code; give the linked file, or build without -flto"
    assert refusal(bitcode) == Refusal("ElfError", expected)


def test_files_without_sound_debug_information(tmp_path: Path) -> None:
    """`objcopy --only-keep-debug` leaves headers of the other half whose bytes are in another file."""
    nothing = Section(".debug_info", type="SHT_NOBITS", size=4096)
    strings = Section(".debug_info", b"\0not DWARF\0", type="SHT_STRTAB")
    assert refusal(compiled(tmp_path, "-g0")).error == "DebugInfoMissing"
    assert refusal(elf_file(tmp_path / "without sections")).error == "DebugInfoMissing"
    assert refusal(elf_file(tmp_path / "stripped", nothing)).error == "DebugInfoMissing"
    assert refusal(elf_file(tmp_path / "known by its name alone", strings)).error == "DebugInfoDamaged"


def test_header_in_the_other_byte_order(tmp_path: Path) -> None:
    file = compiled(tmp_path)
    content = bytearray(file.read_bytes())
    content[5] = 2
    file.write_bytes(content)
    assert refusal(file).error == "ElfError"


def test_names_of_files_that_are_no_utf8_or_would_steer_the_terminal(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/na\xffme.o"))
    file.write_bytes(compiled(tmp_path).read_bytes())
    refused = refusal(file)
    assert refused.error == "ElfError"
    assert refused.sentence.endswith("na\\xffme.o: the file name is not valid UTF-8; use another name (a link)")
    file = tmp_path / "red\x1b[31m\nlinesmith: all is well"
    file.write_bytes(b"no ELF file")
    assert refusal(file).sentence.endswith(r"red\u001b[31m linesmith: all is well" + NOT_ELF.removeprefix("FILE"))


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
    ("compiler", "flags"), [pytest.param(*one, marks=[] if one in QUICK else [pytest.mark.study]) for one in OBJECTS]
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
