# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no ELF object with debug information, and sound ones cut off or changed at many places."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from elf.objects import SOURCE, Refusal, Section, compiled, elf_file, refusal
from linesmith_command import linesmith
from patch_cases import write_files

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


# How a small program is made in every form that the readers know: `it` is the file that is given.
OBJECT = "-O2 -c unit.c -o it"
WITH_DWZ = "gcc -g -gdwarf-4 unit.c main.c -o it; gcc -g -gdwarf-4 unit.c main.c -o two; dwz -m common -M common it two"
FORMS = {
    "DWARF 5": f"gcc -gdwarf-5 {OBJECT}",
    "DWARF 4 by clang": f"clang-19 -gdwarf-4 {OBJECT}",
    "DWARF 2": f"gcc -gdwarf-2 -gstrict-dwarf {OBJECT}",
    "type units": f"gcc -gdwarf-4 -fdebug-types-section {OBJECT}",
    "64-bit DWARF": f"gcc -g -gdwarf64 {OBJECT}",
    "compressed": f"gcc -g -gz=zlib {OBJECT}",
    "a kernel module": f"gcc -g -mcmodel=kernel -fno-pie -ffunction-sections {OBJECT}",
    "arm64": f"clang-19 -g --target=aarch64-linux-gnu {OBJECT}",
    "a program": "gcc -g -O2 unit.c main.c -o it",
    "raw BTF": f"gcc -g {OBJECT}; pahole --btf_encode_detached=btf it; mv btf it",
    "a skeleton": f"gcc -g -gsplit-dwarf {OBJECT}",
    "what a skeleton refers to": f"gcc -g -gsplit-dwarf {OBJECT}",
    "referring to dwz": WITH_DWZ,
    "a file of dwz": WITH_DWZ,
}
DAMAGED = {"what a skeleton refers to": "it.dwo", "a file of dwz": "common"}
MAIN = "struct outer; int walk(struct outer *, int); int main(int n, char **words) { return walk(0, n) + !words; }"
UNIT = Path(__file__).with_name("sources") / "unit.c"
# Reads the file `it` of every folder in one process, and shows what is in it; prints a word for each reader.
READ_ALL = """
import pathlib, resource, sys
from linesmith.analyzer.access.questions import accesses_of, summary
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.layouts import dwarf
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.report import layout, pahole

def shown(file):
    reading = dwarf.read_layouts(file)
    chosen = tuple(reading.layouts)[:200]
    pahole.render_text(chosen, reading.layouts, expand=True)
    layout.render_json(chosen, reading)
    containment = Containment(reading.layouts)
    for one in chosen:
        containment.places(one.id), containment.leaves(one.id, one.size // 2)

def mapped(file):
    accesses = read_accesses(file).accesses
    found = summary(accesses)
    assert sum(count for _, count in found.outcomes) == found.accesses == len(accesses)
    layouts = dwarf.read_layouts(file).layouts
    assert all(accesses_of(one, layouts, accesses).counts.total <= found.accesses for one in layouts)

resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (200, 201))
readers = (shown, mapped, lambda it: dwarf.touched(it, [], [""]), lambda it: dwarf.operands(it, [], [""]))
for file in sorted(pathlib.Path(sys.argv[1]).glob("*/it")):
    print(file.parent.name, end="")
    for reader in readers:
        try:
            reader(file)
            print(" read", end="", flush=True)
        except LinesmithError as error:
            assert str(file.parent) in str(error) and "\\n" not in str(error), str(error)
            print("", type(error).__name__, end="", flush=True)
    print()
"""
ERRORS = {"ElfError", "DebugInfoMissing", "DebugInfoDamaged", "CodeMissing"}


def damaged(whole: bytes, chance: random.Random) -> bytes:
    """The first bytes, or all of them with a few that no producer meant; the same ones in every run."""
    if chance.random() < 0.4:
        return whole[: chance.randrange(len(whole))]
    content = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        at, begin = (chance.randrange(len(content)) for _ in range(2))
        put = chance.choice(
            (
                bytes([chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])]),
                b"\x80" * chance.choice((2, 10, 400)) + b"\x01",  # a LEB128 number that goes on and on
                chance.randrange(at + 1).to_bytes(4, "little"),  # an offset, perhaps of itself
                chance.choice([1 << 31, 1 << 63, (1 << 64) - 1]).to_bytes(8, "little"),
                content[begin : begin + chance.choice((4, 64))],
            )
        )
        content[at : at + len(put)] = put[: len(content) - at]
    return bytes(content)


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.study)])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_cut_anywhere_or_with_changed_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, count: int
) -> None:
    sound = tmp_path / "sound"
    write_files(sound, {"unit.c": UNIT.read_text(), "main.c": MAIN})
    subprocess.run(["sh", "-ec", FORMS[form]], cwd=sound, check=True, capture_output=True)
    name = DAMAGED.get(form, "it")
    for number in range(count):
        copy = shutil.copytree(sound, tmp_path / "all" / f"{number:04}")
        if number:
            chance = random.Random(f"{form} {number}")  # noqa: S311
            (copy / name).write_bytes(damaged((sound / name).read_bytes(), chance))
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    child = [sys.executable, "-c", READ_ALL, str(tmp_path / "all")]
    ran = subprocess.run(child, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, (ran.returncode, ran.stdout.splitlines()[-1:], ran.stderr[-2000:])
    found = [line.split()[1:] for line in ran.stdout.splitlines()]
    assert set(found[0][: 1 if form == "raw BTF" else None]) == {"read"}, "it was sound"
    assert (len(found), {word for line in found for word in line} - ERRORS - {"read"}) == (count, set())
