# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects compiled of C text that nobody has reviewed: ``asm`` can give them any debug information.

``linesmith-read-object`` reads them. It opens no file that the object names, and what it says does not tell whether
there is one. What it writes is checked by the process that started it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from c_source import compiled
from elf.objects import Dwarf, dwarf_file

from linesmith.analyzer.base.errors import DebugInfoDamaged, DebugInfoMissing, ElfError
from linesmith.analyzer.layouts.dwarf import object_reader, read_layouts, table_from_reader

OWN = "struct own { int first; struct { char in; } second[2]; struct own *next; } own;\n"
REFUSED = (
    "the object refers to debug information in another file, which is not read for code under review; "
    "build it without -gsplit-dwarf and dwz"
)

# What the text adds to its object, with the name of a file of somebody else.
OTHER_FILES = tomllib.loads(Path(__file__).with_name("sources").joinpath("references.toml").read_text())
DEBUG_LINK = OTHER_FILES.pop("debug link")
references = pytest.mark.parametrize("reference", OTHER_FILES.values(), ids=OTHER_FILES.keys())


def hostile_object(folder: Path, reference: str, named: Path, *flags: str) -> Path:
    """An object of C text with assembly in it that names the file."""
    assembly = json.dumps(reference.replace("NAME", str(named)))  # C escapes strings as JSON does
    return compiled(folder, f"{OWN}asm({assembly});", *flags)


def read(file: Path) -> tuple[bytes, int]:
    """What the program writes about the object, and its exit status."""
    done = subprocess.run([object_reader(), file], capture_output=True, check=False, timeout=60)
    assert done.stderr == b""
    return done.stdout, done.returncode


@references
def test_an_object_that_names_another_file_is_refused(tmp_path: Path, reference: str) -> None:
    file = hostile_object(tmp_path, reference, tmp_path / "other")
    output, status = read(file)
    with pytest.raises(DebugInfoMissing) as refused:
        table_from_reader(output, status)
    assert (str(refused.value), status) == (f"{file}: {REFUSED}", 2)


@references
def test_the_refusal_does_not_tell_whether_the_named_file_exists(tmp_path: Path, reference: str) -> None:
    named = tmp_path / "other"
    file = hostile_object(tmp_path, reference, named)
    without = read(file)
    shutil.copy(file, named)
    with_an_object = read(file)
    named.unlink()
    os.mkfifo(named)  # who opened it would wait for ever
    assert without == with_an_object == read(file)


@pytest.mark.skipif(not shutil.which("strace"), reason="strace tells which files are looked at")
@references
def test_nothing_is_looked_up_by_the_name_that_the_object_gives(tmp_path: Path, reference: str) -> None:
    file = hostile_object(tmp_path, reference, tmp_path / "other")
    log = tmp_path / "log"
    subprocess.run(["strace", "-f", "-e", "trace=file,network", "-o", log, object_reader(), file], check=False)
    _, opened, behind = log.read_text().partition(f'"{file}"')
    assert opened
    assert re.findall(r'[( ]"[^"]+"|socket', behind.partition("\n")[2]) == []


def test_a_debug_link_is_refused_where_debug_information_is_missing_and_left_alone_elsewhere(tmp_path: Path) -> None:
    file = hostile_object(tmp_path, DEBUG_LINK, tmp_path / "other.o")
    assert table_from_reader(*read(file)).variants("own")[0].size == 16
    subprocess.run(["objcopy", "--strip-debug", file], check=True)
    with pytest.raises(DebugInfoMissing, match=REFUSED):
        table_from_reader(*read(file))


def test_no_debug_file_is_looked_for_by_build_id(tmp_path: Path) -> None:
    note = '.pushsection .note.gnu.build-id,"a",@note\n.long 4, 20, 3\n.asciz "GNU"\n.fill 20, 1, 7\n.popsection\n'
    file = hostile_object(tmp_path, note, tmp_path)
    subprocess.run(["objcopy", "--strip-debug", file], check=True)
    with pytest.raises(DebugInfoMissing, match=r"holds no DWARF; build it with -g$"):
        table_from_reader(*read(file))


@pytest.mark.parametrize("flags", [("-gdwarf-5",), ("-gdwarf-4", "-fdebug-types-section"), ("-gz=zlib",)])
def test_the_records_are_those_that_this_process_would_read(tmp_path: Path, flags: tuple[str, ...]) -> None:
    file = compiled(tmp_path, OWN, *flags)
    assert list(table_from_reader(*read(file))) == list(read_layouts(file).layouts)


def test_a_record_that_holds_itself_by_value_is_damage(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.struct("snake", 4, tail=dwarf.here())
    output, status = read(dwarf_file(tmp_path / "file", dwarf))
    assert (status, b'the record \\"snake\\" holds itself by value' in output) == (2, True)


def test_a_name_with_a_line_break_breaks_no_line_and_what_is_no_object_is_an_elf_error(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.struct("one\ntwo\u2028three", 4, first=dwarf.int)
    assert table_from_reader(*read(dwarf_file(tmp_path / "file", dwarf))).names() == ("one\ntwo\u2028three",)
    (tmp_path / "file").write_text("text")
    with pytest.raises(ElfError, match="is not an ELF file"):
        table_from_reader(*read(tmp_path / "file"))


def member(record: int) -> str:
    return f'{{"name":"m","type":"t","declarator":"m","offset":0,"size":8,"record":{record}}}'


def line(number: int, *members: str, size: int = 8) -> bytes:
    made = f'{{"id":{number},"name":"n","kind":"struct","size":{size},"members":[{",".join(members)}]}}\n'
    return made.encode()


WRONG_OUTPUT = {
    "no JSON": (b"x\n", "invalid output"),
    "no text": (b'"\xff"\n', "invalid output"),
    "nested without end": (b'{"x":' + b"[" * 100_000, "invalid output"),
    "two records of one id": (line(0) + line(0), "record 1 has the id 0"),
    "an impossible size": (line(0, size=1 << 60), "record 0 has an impossible size or alignment"),
    "a member of no record": (line(0, member(7)), "record 0 has a member whose type does not exist"),
    "a record that holds itself": (line(0, member(0)), "a record holds itself by value"),
    "a ring of records": (line(0, member(1)) + line(1, member(0)), "a record holds itself by value"),
}


@pytest.mark.parametrize(("output", "wrong"), WRONG_OUTPUT.values(), ids=WRONG_OUTPUT.keys())
def test_what_the_program_writes_is_not_trusted(output: bytes, wrong: str) -> None:
    with pytest.raises(DebugInfoDamaged, match=f"the file is damaged: {wrong}$"):
        table_from_reader(output, 0)


@pytest.mark.parametrize("output", [b"", b"x", b'{"error":"KeyboardInterrupt","message":"m"}', b"[" * 100_000])
def test_an_end_without_a_report_is_told_with_its_status(output: bytes) -> None:
    with pytest.raises(DebugInfoDamaged, match=r"it ended with status -11$"):
        table_from_reader(output, -11)


def test_a_report_cannot_write_to_the_terminal() -> None:
    with pytest.raises(ElfError) as told:
        table_from_reader(b'{"error":"ElfError","message":"a\\u001b[2Jb\\nc"}', 2)
    assert str(told.value) == "a\ufffd[2Jb\ufffdc"
