# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are small and huge in memory, records of many members, and saved indices that say what no build gave."""

from __future__ import annotations

import os
import resource
import struct
import traceback
import zlib
from collections.abc import Callable, Iterable
from itertools import accumulate
from pathlib import Path
from random import Random

import msgspec
import pytest
from c_source import compiled
from elf.objects import Dwarf, Section, elf_file
from linesmith_command import limited, linesmith
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.intent.reading import read_intent
from linesmith.analyzer.layouts.store import IndexedLayouts, SavedIndex, content, parsed
from linesmith.tuner.replay.replayer import open_trace
from linesmith.tuner.run.plan_file import read_plan

MIB = 1 << 20


def zeroes(mebibytes: int) -> bytes:
    """So many of them, compressed."""
    packer = zlib.compressobj(9)
    return b"".join([*(packer.compress(bytes(MIB)) for _ in range(mebibytes)), packer.flush()])


def compressed(name: str, packed: bytes, size: int) -> Section:
    """A section with the header of ELF's gABI (ELFCOMPRESS_ZLIB) that claims to be ``size`` bytes."""
    return Section(name, struct.pack("<IIQQ", 1, 0, size, 1) + packed, flags="SHF_COMPRESSED")


def old_style(name: str, packed: bytes, size: int) -> Section:
    """A section as GNU tools wrote it before: ``.zdebug_info``."""
    return Section(name.replace(".debug", ".zdebug"), b"ZLIB" + struct.pack(">Q", size) + packed)


def said(budget: int, section: str) -> str:
    return (
        f"linesmith: FILE: section {section} brings the sections to more than {budget} MiB once they are decompressed "
        "and relocated, out of all proportion to the file; it is damaged or made to exhaust memory (if it is neither, "
        "decompress a copy with objcopy --decompress-debug-sections and read that)\n"
    )


FORMS = [
    pytest.param("index", compressed, ".debug_info", marks=pytest.mark.study),
    ("layout", old_style, ".zdebug_info"),
    ("access", compressed, ".debug_info"),
]


@pytest.mark.parametrize(("command", "form", "name"), FORMS)
def test_a_section_a_thousand_times_the_size_of_its_file_is_refused(
    tmp_path: Path, command: str, form: Callable[[str, bytes, int], Section], name: str
) -> None:
    file = elf_file(tmp_path / "file", form(".debug_info", zeroes(100), 100 * MIB))
    done = limited(command, file, cache=tmp_path / "cache")
    assert (done.returncode, done.stderr.replace(str(file), "FILE")) == (2, said(64, name))


def test_sections_that_fit_one_by_one_do_not_fit_together(tmp_path: Path) -> None:
    packed = zeroes(50)
    names = [".debug_abbrev", ".debug_str", ".debug_info"]
    file = elf_file(tmp_path / "file", *(compressed(name, packed, 50 * MIB) for name in names))
    done = limited("layout", file, cache=tmp_path / "cache")
    assert (done.returncode, done.stderr.replace(str(file), "FILE")) == (2, said(64, ".debug_str"))


def test_units_of_a_few_bytes_do_not_exhaust_memory(tmp_path: Path) -> None:
    units = struct.pack("<IHIB", 7, 4, 0, 8) * (5 * MIB)
    file = elf_file(tmp_path / "file", compressed(".debug_info", zlib.compress(units, 9), len(units)))
    done = limited("index", file, cache=tmp_path / "cache")
    assert (done.returncode, "has more units than a file of this size can have" in done.stderr) == (2, True)


def test_records_of_one_byte_do_not_exhaust_memory(tmp_path: Path) -> None:
    dwarf = Dwarf()
    dwarf.entry("structure_type")
    dwarf.entries += dwarf.entries[-1:] * (20 * MIB)
    dwarf.end()
    info = dwarf.info()
    packed = compressed(".debug_info", zlib.compress(info, 9), len(info))
    file = elf_file(tmp_path / "file", Section(".debug_abbrev", dwarf.abbrev()), packed)
    done = limited("index", file, cache=tmp_path / "cache")
    assert (done.returncode, "is damaged; rebuild the file" in done.stderr) == (2, True)


@pytest.mark.parametrize("flag", ["-gz=zlib", "-gz=zlib-gnu"])
def test_what_a_compiler_compresses_is_read(tmp_path: Path, flag: str) -> None:
    source = "".join(f"struct s{number} {{ int a; long b; }} v{number};" for number in range(2000))
    assert limited("layout", compiled(tmp_path, source, flag), "s1999", cache=tmp_path / "cache").returncode == 0


# Records of many members: the time for each output grows with them, not with their square.

MEMBERS = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``struct plain`` has a hole behind every other member, ``struct bits`` is one run of bit-fields."""
    plain = "".join(f"char c{number}; long l{number};" for number in range(MEMBERS // 2))
    bits = "".join(f"unsigned b{number} : {number % 7 + 1};" for number in range(MEMBERS))
    source = f"struct plain {{ {plain} }} plain; struct bits {{ {bits} }} bits;"
    return compiled(tmp_path_factory.mktemp("large"), source)


EXPANDED = pytest.param("plain --expand", marks=pytest.mark.study)


@pytest.mark.parametrize("words", ["plain", EXPANDED, "plain --format json", "bits"])
def test_a_layout_of_many_members_is_shown_in_linear_time(large: Path, tmp_path: Path, words: str) -> None:
    done = limited("layout", large, *words.split(), cache=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n") > MEMBERS) == (0, "", True)


def test_two_layouts_of_many_members_are_compared_in_linear_time(large: Path, tmp_path: Path) -> None:
    done = limited("diff", large, large, cache=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


MANY = 30_000


def record(number: int, *members: str, size: int = 8, kind: str = "struct") -> bytes:
    text = f'{{"id":{number},"name":"r{number}","kind":"{kind}","size":{size},"members":[{",".join(members)}]}}'
    return text.encode()


def field(offset: int = 0, size: int = 8, held: int | None = None, more: str = "") -> str:
    """A member of the record with the id ``held``, or a scalar; ``more`` are further fields."""
    record_held = "" if held is None else f',"record":{held},"category":"record"'
    return f'{{"name":"m","type":"t","declarator":"m","offset":{offset},"size":{size}{record_held}{more}}}'


def forged(file: Path, documents: Iterable[bytes]) -> Path:
    """The saved index of a real file with the records ``r0``, ``r1`` ... in place of its own."""
    linesmith("index", compiled(file.parent, "int one;"), "-o", file, cache=file.parent / "cache")
    whole, parts = file.read_bytes(), list(documents)
    head, _, rest = whole[whole.index(b"{") :].partition(b"\n")
    layouts = parsed(rest)
    assert layouts is not None
    body, names = b"".join(parts), {f"r{number}": (number,) for number in range(len(parts))}
    told = {"ends": tuple(accumulate(map(len, parts))), "names": names, "digests": bytes(8 * len(parts))}
    forged = IndexedLayouts(msgspec.structs.replace(layouts.head, body_crc=zlib.crc32(body), **told), body)
    file.write_bytes(content(msgspec.json.decode(head, type=SavedIndex), forged))
    return file


def refused(file: Path, *arguments: str) -> str:
    """What is wrong with the index."""
    done = limited("layout", file, *arguments, cache=file.parent / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    before, _, behind = done.stderr.partition(" is a damaged index: ")
    assert before == f"linesmith: {file}"
    return behind.removesuffix("; write it again with `linesmith index -o`\n")


ITSELF, BEHIND = "a record holds itself by value", "member 0 of record 0 ends behind the record"
OPEN = field(offset=8, size=0, more=',"dimensions":[0],"flexible":true')


@pytest.mark.parametrize(
    ("documents", "words", "wrong"),
    [
        ([record(0, field()), record(1, field(held=0))], "r1 --expand", ""),
        ([record(0, field(more=',"bit_offset":8,"bit_size":9'), size=3)], "", ""),  # the unit of a packed bit-field
        ([record(0, field(), OPEN)], "", ""),  # an open array ends where its record does
        ([record(0, field(held=0))], "r0 --expand", ITSELF),
        ([record(0, field(held=0))], "r0 --format json", ITSELF),
        ([record(0, field(held=1)), record(1, field(held=2)), record(2, field(held=0))], "r0 --expand", ITSELF),
        ([record(0, field(held=1))], "", "record 0 has a member whose type does not exist"),
        ([record(0, field(offset=4))], "", BEHIND),
        ([record(0, field(more=',"bit_offset":60,"bit_size":5'))], "", BEHIND),
    ],
)
def test_a_saved_index_that_says_what_cannot_be_is_refused(
    tmp_path: Path, documents: list[bytes], words: str, wrong: str
) -> None:
    file = forged(tmp_path / "file", documents)
    if wrong:
        assert refused(file, *words.split()) == wrong
    else:
        assert linesmith("layout", file, *words.split(), cache=tmp_path / "cache").returncode == 0


def test_many_records_one_in_the_other_are_checked_in_linear_time(tmp_path: Path) -> None:
    nested = (record(number, field(held=number - 1)) for number in range(1, MANY))
    file = forged(tmp_path / "file", [record(0, field()), *nested])
    assert limited("layout", file, f"r{MANY - 1}", "--expand", cache=tmp_path / "cache").returncode == 0


def test_many_records_in_a_ring_are_refused_in_linear_time(tmp_path: Path) -> None:
    ring = (record(number, field(held=(number + 1) % MANY)) for number in range(MANY))
    assert refused(forged(tmp_path / "file", ring), "r0") == "a record holds itself by value"


# Traces and TOML files damaged by chance are read or refused


SOURCES = Path(__file__).with_name("sources")
SECONDS, BYTES = 60, 1 << 30
NUMBERS = (b"0", b"1", b"255", b"4294967295", b"9223372036854775808", b"-1", b"1" + b"0" * 40, b"-1" + b"0" * 20)
WORDS = b'0x % | [ { " \n \t - = . nan null 1e999 \xff\xfe 999999999999999999999999999999'.split(b" ")


def damaged(sound: bytes, random: Random, text: bool) -> bytes:
    """One to three changes; those of text are a number that nobody wrote, a sign put in and lines repeated."""
    content = bytearray(sound)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at, kind = random.randrange(len(content) or 1), random.randrange(6 if text else 3)
        if kind == 0:
            for place in random.choices(range(len(content)), k=random.choice((1, 1, 2, 8, 64))) if content else ():
                content[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            piece = content[at : at + random.choice((4, 16, 64, 256))]
            place = random.randrange(len(content) or 1)
            content[place : place + len(piece)] = piece
        elif kind == 3:
            end = at
            while content[end : end + 1].isdigit():
                end += 1
            content[at:end] = random.choice(NUMBERS)
        elif kind == 4:
            content[at:at] = random.choice(WORDS) * random.choice((1, 1, 1, 100, 10_000))
        else:
            lines = bytes(content).split(b"\n")
            number = random.randrange(len(lines))
            lines[number : number + 1] = [lines[number]] * random.choice((0, 2, 50, 1000))
            content[:] = b"\n".join(lines)
    return bytes(content)


def trace(folder: Path) -> bytes:
    steps = [Step(cpu, kind, 0x1000 + 8 * cpu, code=0x40 + cpu) for cpu in range(2) for kind in "LS"]
    return write_trace(folder / "trace", turns(steps, 50), (0, 0)).read_bytes()


def opened(file: Path) -> None:
    open_trace(file, ())


READERS: dict[str, Callable[[Path], object]] = {"trace": opened, "intents.toml": read_intent, "search.toml": read_plan}
COUNT = 100


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    """In a process of its own, whose limits are for all files together; the same files in each run."""
    sound = trace(tmp_path) if name == "trace" else (SOURCES / name).read_bytes()
    told, child = tmp_path / "told", os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
            for number in range(COUNT):
                told.write_text(f"damage {number}")
                file = tmp_path / f"{number}.{name}"
                file.write_bytes(damaged(sound, Random(f"{name} {number}"), name != "trace"))  # noqa: S311
                _read(READERS[name], file)
            os._exit(0)
        except BaseException:
            told.write_text(f"{told.read_text()}: {traceback.format_exc()}")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, told.read_text()


def _read(reader: Callable[[Path], object], file: Path) -> None:
    try:
        reader(file)
    except LinesmithError as error:
        if "\n" in str(error):
            raise AssertionError("more than one line") from error
