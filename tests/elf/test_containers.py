# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are no ELF object with debug information; one oddity per test."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from elf.objects import SOURCE, Section, compiled, elf_file
from elf.refusal import LINESMITH, Refusal, refusal

NOT_ELF = "FILE: is not an ELF file; give a vmlinux, a module, an object file or a program"


def written(folder: Path, content: bytes) -> Path:
    file = folder / "input"
    file.write_bytes(content)
    return file


def usage_error(file: Path) -> str:
    """What the command line says about an argument that is no readable file."""
    ran = subprocess.run([LINESMITH, "layout", file], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 2
    return ran.stderr.removesuffix("\n").replace(str(file), "FILE")


def test_file_that_is_not_there(tmp_path: Path) -> None:
    expected = "linesmith layout: ELF: file 'FILE' does not exist; give the path of one that does"
    assert usage_error(tmp_path / "absent") == expected


def test_directory(tmp_path: Path) -> None:
    assert usage_error(tmp_path) == "linesmith layout: ELF: file 'FILE' is a directory; give the path of a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_unreadable_file(tmp_path: Path) -> None:
    file = written(tmp_path, b"\x7fELF")
    file.chmod(0)
    expected = "linesmith layout: ELF: file 'FILE' is not readable; give the path of one that you may read"
    assert usage_error(file) == expected


def test_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    expected = "FILE: is not a regular file; give an ELF object or a raw BTF file"
    assert refusal(tmp_path / "fifo") == Refusal("ElfError", expected)


def test_empty_file(tmp_path: Path) -> None:
    expected = "FILE: is empty; give an ELF object or a raw BTF file"
    assert refusal(written(tmp_path, b"")) == Refusal("ElfError", expected)


@pytest.mark.parametrize("program", ["xz -dk", "gunzip -k", "zstd -d"])
def test_compressed_file_names_what_unpacks_it(tmp_path: Path, program: str) -> None:
    packer = {"xz -dk": ["xz"], "gunzip -k": ["gzip"], "zstd -d": ["zstd", "-q"]}[program]
    packed = subprocess.run([*packer, "-c"], input=b"\x7fELF", capture_output=True, check=True, timeout=300).stdout
    expected = f"FILE: is compressed; unpack it with `{program}` and give the result"
    assert refusal(written(tmp_path, packed)) == Refusal("ElfError", expected)


@pytest.mark.parametrize(("place", "magic"), [(0x202, b"HdrS"), (0x38, b"ARM\x64")])
def test_kernel_as_it_boots(tmp_path: Path, place: int, magic: bytes) -> None:
    image = bytes(place) + magic + bytes(100)
    expected = (
        "FILE: is a kernel as it boots, without its types; give the vmlinux of the same build (distributions put it "
        "into the debug package)"
    )
    assert refusal(written(tmp_path, image)) == Refusal("ElfError", expected)


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes(tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed).randbytes(5000)  # noqa: S311
    assert refusal(written(tmp_path, noise)) == Refusal("ElfError", NOT_ELF)


@pytest.mark.parametrize("length", [4, 15, 16, 40, 63])
def test_elf_magic_and_nothing_sound_behind_it(tmp_path: Path, length: int) -> None:
    noise = b"\x7fELF" + random.Random(length).randbytes(length - 4)  # noqa: S311
    assert refusal(written(tmp_path, noise)).error == "ElfError"


def test_archive(tmp_path: Path) -> None:
    archive = tmp_path / "lib.a"
    subprocess.run(["ar", "cr", archive, compiled(tmp_path)], check=True)
    expected = "FILE: is an archive; extract its members with `ar x` and give one of them"
    assert refusal(archive) == Refusal("ElfError", expected)


def test_thin_archive(tmp_path: Path) -> None:
    archive = tmp_path / "built-in.a"
    subprocess.run(["ar", "crT", archive, compiled(tmp_path)], check=True)
    expected = "FILE: is a thin archive; give one of the objects that it names (`ar t` lists them)"
    assert refusal(archive) == Refusal("ElfError", expected)


def test_program_of_windows(tmp_path: Path) -> None:
    yaml = "--- !COFF\nheader: {Machine: IMAGE_FILE_MACHINE_AMD64}\nsections: []\nsymbols: []\n"
    made = tmp_path / "unit.obj"
    subprocess.run(["yaml2obj-19", "-o", made], input=yaml, text=True, check=True)
    assert refusal(made) == Refusal("ElfError", NOT_ELF)


def test_object_of_macos(tmp_path: Path) -> None:
    yaml = (
        "--- !mach-o\nFileHeader: {magic: 0xFEEDFACF, cputype: 0x01000007, cpusubtype: 3, filetype: 1, ncmds: 0,"
        " sizeofcmds: 0, flags: 0, reserved: 0}\n"
    )
    made = tmp_path / "unit.macho"
    subprocess.run(["yaml2obj-19", "-o", made], input=yaml, text=True, check=True)
    assert refusal(made) == Refusal("ElfError", NOT_ELF)


def test_bitcode_of_link_time_optimisation(tmp_path: Path) -> None:
    bitcode = compiled(tmp_path, "-flto", compiler="clang-19")
    expected = "FILE: is LLVM bitcode, not machine code; give the linked file, or build without -flto"
    assert refusal(bitcode) == Refusal("ElfError", expected)


def test_object_without_debug_information(tmp_path: Path) -> None:
    assert refusal(compiled(tmp_path, "-g0")).error == "DebugInfoMissing"


def test_object_without_sections(tmp_path: Path) -> None:
    assert refusal(elf_file(tmp_path / "bare")).error == "DebugInfoMissing"


def test_debug_sections_without_content(tmp_path: Path) -> None:
    """What `objcopy --only-keep-debug` leaves of the other half: headers whose bytes are in another file."""
    nothing = Section(".debug_info", type="SHT_NOBITS", size=4096)
    assert refusal(elf_file(tmp_path / "stripped", nothing)).error == "DebugInfoMissing"


def test_debug_information_is_known_by_its_name_alone(tmp_path: Path) -> None:
    strings = Section(".debug_info", b"\0not DWARF\0", type="SHT_STRTAB")
    assert refusal(elf_file(tmp_path / "odd", strings)).error == "DebugInfoDamaged"


def test_header_in_the_other_byte_order(tmp_path: Path) -> None:
    file = compiled(tmp_path)
    content = bytearray(file.read_bytes())
    content[5] = 2
    assert refusal(written(tmp_path, bytes(content))).error == "ElfError"


def test_source_file(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, SOURCE.encode())) == Refusal("ElfError", NOT_ELF)


def test_name_that_is_no_text(tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/na\xffme.o"))
    file.write_bytes(compiled(tmp_path).read_bytes())
    refused = refusal(file)
    assert refused.error == "ElfError"
    assert refused.sentence.endswith(r"na\xffme.o: the name is no UTF-8; give the file by another name (a link to it)")


def test_name_that_would_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "red\x1b[31m\nlinesmith: all is well"
    file.write_bytes(b"no ELF file")
    assert refusal(file).sentence.endswith(r"red\u001b[31m linesmith: all is well" + NOT_ELF.removeprefix("FILE"))
