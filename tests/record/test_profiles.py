# SPDX-License-Identifier: GPL-2.0-or-later
"""From the text of a recording to a profile: what is added up, left out, and how variables are named."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH

from linesmith.analyzer.base.elf import ElfFile
from linesmith.analyzer.base.errors import NotRecorded
from linesmith.analyzer.base.text import cxx_name, with_cxx_names
from linesmith.analyzer.model import Access, CallPath, Conflict, Order, Profile
from linesmith.plugins.recording.profile import CodeName, to_profile
from linesmith.plugins.recording.text import circumstances, read_recording

SOURCES = Path(__file__).with_name("sources")
TEXT = (SOURCES / "recording.txt").read_text()


def recorded(folder: Path, text: str) -> Profile:
    """The profile of a recording whose one function is called reader or writer."""
    path = folder / "recording"
    path.write_text(text)
    read = read_recording(path)
    functions = ("reader", "writer", "do_it", "asm_entered", None)

    def named(address: int) -> CodeName:
        return CodeName(functions[(address >> 4) % 16 - 1], "vmlinux")

    return to_profile(read, circumstances(Order(("true",)), read, "qemu", "7.2.0", None), named, "kernel")


def test_a_recording_becomes_a_profile(tmp_path: Path) -> None:
    """Accesses are added up over CPUs, an atomic update counts as a store, and a line that nobody lost is left out."""
    found = recorded(tmp_path, TEXT)
    (line,) = found.lines
    assert line.address == 0xFFFFFFFF82000040
    assert line.accesses[0] == Access(
        offset=0,
        function="reader",
        hitm_remote=6,
        hitm_local=1,
        stores_l1_hit=0,
        stores_l1_miss=0,
        records=20,
        cpus=2,
        code_address=0xFFFFFFFF81000010,
        object_file="vmlinux",
        nodes="0{0},1{1}",
        kernel=True,
        width=8,
        taken=0,
        # Without itself; what ran before the kernel was entered did not call it.
        call_paths=(CallPath(("writer", "do_it"), 4), CallPath(("asm_entered",), 2)),
    )
    update = line.accesses[1]
    assert (update.stores_l1_hit, update.stores_l1_miss, update.taken, update.records) == (9, 10, 7, 19)
    assert update.call_paths == ()
    assert line.conflicts == (
        Conflict(
            offset=0,
            width=8,
            function="reader",
            writer_offset=8,
            writer_width=4,
            writer_function="writer",
            true_sharing=False,
            local=1,
            remote=6,
            shadowed=2,
            code_address=0xFFFFFFFF81000010,
            writer_code_address=0xFFFFFFFF81000020,
        ),
    )
    assert found.recording
    assert (found.recording.nodes, found.recording.counts) == ((0, 1), (("accesses", 60), ("dropped_pairs", 3)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin with 'linesmith-recording 2'; record again with this linesmith"),
        (TEXT.replace("recording 2", "recording 1"), "does not begin with 'linesmith-recording 2'"),
        (TEXT.removesuffix("end\n"), "is truncated: its last row is not 'end'; free disk space"),
        (TEXT.replace("line ", "lime "), r"recording:16 cannot be understood \(no row of this kind\)"),
        (TEXT.replace("L 0 5", "L 0"), r"recording:17 cannot be understood"),
        (TEXT.replace("k 40", "k forty"), r"recording:16 cannot be understood \(invalid literal"),
        (TEXT.replace("set quantum 1000\n", ""), r"lacks a setting \('quantum'\); reinstall linesmith"),
    ],
)
def test_a_damaged_recording_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NotRecorded, match=message):
        recorded(tmp_path, text)


def test_no_recording_at_all_means_that_the_region_was_not_reached(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="the region of interest was never reached"):
        read_recording(tmp_path / "absent")


def many_lines(lines: int) -> str:
    """Line ``k`` of so many has ``k`` HITM loads, hits of another instruction, and a pair that met once."""
    rows = []
    for number in range(1, lines + 1):
        at = f"{0xFFFFFFFF82000000 + 64 * number:x}"
        rows += [
            f"line {at} k {number} 0 0",
            f"access {at} 0 8 ffffffff81000010 L 0 0 {number} 0 0 0 0 0 0 0",
            f"access {at} 0 8 ffffffff81000020 L 0 9 0 0 0 0 0 0 0 0",
            f"pair {at} 0 8 ffffffff81000010 L 8 4 ffffffff81000020 false 1 0 0",
        ]
    return TEXT[: TEXT.index("line f")] + "\n".join((*rows, "end\n"))


# Two accesses and a conflict are rows of a whole line, an access and a conflict of the others.
@pytest.mark.parametrize(
    ("limits", "lines", "left_out"),
    [
        ({"WHOLE_LINES": 2, "MOST_LINES": 3}, 5, "2 lines with 20.0% of all"),
        ({"WHOLE_ROWS": 6, "MOST_ROWS": 8}, 9, "6 lines with 46.7% of all"),
    ],
)
def test_only_the_hottest_lines_are_kept_and_below_most_what_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], lines: int, left_out: str
) -> None:
    for name, most in limits.items():
        monkeypatch.setattr(f"linesmith.plugins.recording.profile.{name}", most)
    kept = recorded(tmp_path, many_lines(lines))
    assert [len(line.accesses) for line in kept.lines] == [2, 2, 1]
    assert kept.remarks[-1].text == f"{left_out} contended accesses are below those in the profile"
    assert [one.misses for one in kept.lines[-1].conflicts] == [1], "conflicts are kept below the hottest, too"


def test_shares_are_of_all_lines(tmp_path: Path) -> None:
    kept = recorded(tmp_path, many_lines(3))
    assert [line.share for line in kept.lines] == [3 / 6, 2 / 6, 1 / 6]
    assert kept.remarks == ()


# Variables of recorded programs are named to the member by DWARF alone, those of threads too

# What each program counts in; the first two threads use one half, the others the other.
C = (SOURCES / "variables.c").read_text()
IN_CPP = {
    "_Alignas": "alignas",
    "_Thread_local": "thread_local",
    "struct slot { long hits, misses; };": """
        namespace app { struct slot { long hits, misses; }; template <class T> struct two { T x, y; }; }
        using namespace app;""",
    "LINE static struct { int x, y; } unnamed;": "namespace { LINE app::two<int> unnamed; }",
    "LINE struct slot slots[2];": "namespace app { LINE slot slots[2]; }",
}
EXPECTED = {
    "C": {
        ("unnamed", "global unnamed", "x"),
        ("", "global filestatic[0]", "filestatic[0]"),
        ("", "global in_function[0]", "in_function[0]"),
        ("slot", "global slots[1]", "hits"),
        ("pthread_mutex_t", "global lock", "__data.__lock"),
        ("tail", "global tailed", "more[1]"),
        ("slot", "global own; of a thread", "misses"),
    },
}
EXPECTED["C++"] = EXPECTED["C"] - {
    ("unnamed", "global unnamed", "x"),
    ("slot", "global slots[1]", "hits"),
    ("slot", "global own; of a thread", "misses"),
} | {
    ("app::two<int>", "global (anonymous namespace)::unnamed", "x"),
    ("app::slot", "global app::slots[1]", "hits"),
    ("app::slot", "global own; of a thread", "misses"),
}


@pytest.mark.parametrize("language", ["C", "C++"])
def test_variables_are_named_to_the_member_without_drgn(language: str, tmp_path: Path) -> None:
    source = C
    for old, new in IN_CPP.items() if language == "C++" else ():
        source = source.replace(old, new)
    file, program, profile = (tmp_path / name for name in ("program.cc", "program", "profile"))
    file.write_text(source)
    kind = {"C": "c", "C++": "c++"}[language]
    subprocess.run(["g++", "-x", kind, "-g", "-O1", "-pthread", "-o", program, file], check=True)
    (tmp_path / "drgn.py").write_text("raise ImportError('not here')\n")
    without = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*words: str | Path) -> str:
        return subprocess.run([LINESMITH, *words], env=without, check=True, capture_output=True, text=True).stdout

    run("record", "--on", "qemu-user", "-o", profile, "--", program)
    shown = run("hot", program, profile, "--format", "json")
    found = {
        (one["type"], one["origin"], member["path"])
        for line in json.loads(shown)["lines"]
        for one in line["objects"]
        for member in line["members"]
    }
    assert found >= EXPECTED[language]


def test_variables_get_the_names_that_the_source_gives_them(tmp_path: Path) -> None:
    (tmp_path / "unit.cc").write_text(
        "int plain; static int own; namespace app { int jobs; static int L3; namespace inner { int twelve_chars; } }\n"
        "namespace { int hidden; }\n"
        "struct pool { static int size; }; int pool::size;\n"
        "int *all[] = {&own, &app::L3, &hidden};\n"
    )
    subprocess.run(["g++", "-c", "unit.cc"], cwd=tmp_path, check=True)
    with ElfFile(tmp_path / "unit.o") as file:
        names = {cxx_name(one.name) for one in file.symbols().split()[1] if one.size}
    scoped = {"app::jobs", "app::L3", "app::inner::twelve_chars", "pool::size", "(anonymous namespace)::hidden"}
    assert names == {"plain", "own", "all"} | scoped


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN3app5queueIlE4headE", "app::queue::head"),
        ("_ZNK3app4Pool4takeEiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "app::Pool::take"),
        ("_ZN3app4PoolC1Ei.isra.0", "app::Pool::Pool"),
        ("_ZN3app4RingIiLi3ELb1EED2Ev", "app::Ring::~Ring"),
        ("_ZNK3app4PoolltERKS0_", "app::Pool::operator<"),
        ("_ZZN3app3useEiENKUliE_clEi", "app::use::{lambda}::operator()"),
        ("_ZZN3app4Pool4takeEiE4lock", "app::Pool::take::lock"),
    ],
)
def test_a_function_has_the_name_that_people_know(symbol: str, name: str) -> None:
    assert cxx_name(symbol) == name
    assert with_cxx_names(f"held in {symbol}, main") == f"held in {name}, main"


@pytest.mark.parametrize(
    "symbol",
    [
        *("_ZTV4pool", "_ZN9", "_ZL", "_ZN12x", "_ZN3app", "_ZN3app1aI", "_ZN3appcvbEv", "_ZN0E", "_ZL0"),
        *("_Z" + "Z" * 4000, "_ZL\N{ARABIC-INDIC DIGIT THREE}abc", "_ZN" + "9" * 5000),
    ],
)
def test_what_is_no_name_of_cxx_is_left_as_it_is(symbol: str) -> None:
    assert cxx_name(symbol) == symbol
