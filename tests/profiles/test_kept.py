# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of our own, compact and in JSON: all of them comes back, and what is damaged is refused in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from c_source import compiled
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from linesmith_command import linesmith
from perf_data import records
from perf_data.hand_made import recording
from perf_data.hardware import INTEL
from perf_data.recording import write
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from profiles.example_files import PROFILES, perf_script
from profiles.posted import read

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    CallPath,
    Conflict,
    CpuCounts,
    ObjectArea,
    ObjectKind,
    Profile,
    Recording,
)
from linesmith.plugins.profiles import formats
from linesmith.plugins.profiles.formats import encode, encode_for
from linesmith.plugins.registry import read_profiles

CONFLICT = Conflict(0x10, 8, "unlink_file_vma", 0x18, 4, "down_write", true_sharing=False, local=7, remote=2)
ACCESS = Access(
    0x10, "unlink_file_vma", 2, 7, stores_l1_hit=3, records=9, width=8, taken=1, by_cpu=(CpuCounts(3, 1, loads=9),)
)
LINE = CacheLine(
    1, 0xFFFF888003C0A000, (ACCESS, replace(ACCESS, offset=0x18)), hitm_local=14, taken=1, conflicts=(CONFLICT,)
)
INODES = ObjectArea(ObjectKind.SLAB, "inode_cache", 0xFFFF888003C09E80, 600, 608, 13, types=("inode",))
RECORDING = Recording("qemu", ("./exec_storm", "8"), (0, 0, 1, 1), "x86_64", seed=1, counts=(("dropped_lines", 0),))
PROFILE = Profile("kept by its path", "", "hitm", (LINE,), recording=RECORDING, areas=(INODES,))


def compact(profile: Profile) -> bytes:
    return encode_for(profile, Path("kept"))


def kept(folder: Path, profile: Profile, name: str = "kept") -> Path:
    path = folder / name
    path.write_bytes(encode_for(profile, path))
    return path


def refused(path: Path) -> str:
    with pytest.raises(ProfileError) as caught:
        read_profiles(path)
    message = str(caught.value)
    assert message.isprintable()
    return message


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(PROFILES)
@pytest.mark.parametrize("name", ["kept", "kept.json"])
def test_whatever_was_kept_comes_back(name: str, tmp_path_factory: pytest.TempPathFactory, profile: Profile) -> None:
    path = kept(tmp_path_factory.mktemp("kept"), profile, name)
    assert read_profiles(path) == (replace(profile, source=str(path)),)


def test_the_name_decides_about_the_format(tmp_path: Path) -> None:
    assert encode_for(PROFILE, tmp_path / "x.profile").startswith(b"LSMPROF\x04")
    assert encode_for(PROFILE, tmp_path / "x.json") == encode(PROFILE)


def test_the_documented_fields_are_those_of_the_file() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "profiles.md").read_text()
    section = page.partition("## linesmith's own format")[2].partition("What there is once stands")[0]
    rows = re.findall(r"^\| (`.*)\|$", section, re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([a-z_0-9]+)`", row)}
    assert told == set(_field_names(CacheLine))


def _field_names(kind: Any) -> Iterator[str]:
    """The names of all fields, those of records within included."""
    for name, hint in get_type_hints(kind).items():
        yield name
        for one in get_args(hint):
            if is_dataclass(one):
                yield from _field_names(one)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "storm").write_bytes(compact(PROFILE))
    monkeypatch.setattr(formats, "_MOST_BYTES", 100)
    assert "larger than any recorder makes it" in refused(tmp_path / "storm")
    with pytest.raises(ProfileError, match="x cannot store a profile of more than"):
        encode_for(PROFILE, Path("x"))


HEAD = b'{"linesmith-profile":1,"profile":'
BENT = replace(PROFILE, lines=(replace(LINE, bytes=0),))
STILL, BELOW, ENDLESS = (
    replace(PROFILE, areas=(one,))
    for one in (replace(INODES, stride=0), replace(INODES, address=-64), replace(INODES, count=1 << 62))
)


def with_line(**fields: Any) -> Profile:
    return replace(PROFILE, lines=(replace(LINE, **fields),))


NEGATIVE, HUGE = (with_line(accesses=(replace(ACCESS, records=n),)) for n in (-5, 10**30))
# Of all that is counted, and of each form that a number has in MessagePack.
IMPLAUSIBLE = (
    NEGATIVE,
    *(with_line(rank=-1 << bits) for bits in (0, 7, 15, 31, 63)),
    *(with_line(share=share) for share in (-0.5, 1e30)),
    with_line(conflicts=(replace(CONFLICT, remote=-2),)),
    with_line(accesses=(replace(ACCESS, by_cpu=(CpuCounts(-1, 0),)),)),
    with_line(accesses=(replace(ACCESS, call_paths=(CallPath(("f",), 1, returns=(-1,)),)),)),
)
NO_NUMBER = with_line(share=float("nan"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (compact(PROFILE)[:7] + b"\x09", "in version 9, but this linesmith reads version 1 .JSON. and 4 .compact."),
        (compact(PROFILE)[:7], "in version 0, but"),
        (compact(PROFILE)[:60], "it is truncated"),
        (compact(PROFILE) + b"x", "has data after its end"),
        (compact(PROFILE)[:-1] + b"x", "incorrect data check"),
        (encode(PROFILE)[:-40], r"is a damaged profile of linesmith .*; record it again"),
        (HEAD + b"[" * 100_000, "is a damaged profile of linesmith"),
        (b'{"linesmith-profile":9,"shape":"unheard of"}', "in version 9, but this linesmith reads version 1 "),
        *(
            (form(BENT), "has a line that is not of 64, 128 or 256 bytes; record it again")
            for form in (encode, compact)
        ),
        *((encode(one), "has an object of no size or beyond all addresses") for one in (STILL, BELOW, ENDLESS)),
        *((compact(one), "has an object of no size or beyond all addresses") for one in (STILL, BELOW, ENDLESS)),
        *((encode(one), "has a count below 0 or above 64 bits; record it again") for one in (*IMPLAUSIBLE, HUGE)),
        *((compact(one), "has a count below 0 or above 64 bits; record it") for one in (*IMPLAUSIBLE, NO_NUMBER)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_damaged_file_is_refused(data: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "storm").write_bytes(data)
    assert re.search(told, refused(tmp_path / "storm"))


@pytest.mark.parametrize("name", ["kept", "kept.json"])
@pytest.mark.parametrize("sign", "\0\x1b\x7f\x9b\u202e")
@pytest.mark.parametrize("behind", [0, 1, 7, 24, 300, 70_000])
def test_what_cannot_be_printed_is_replaced_wherever_it_is_in_a_text(
    name: str, sign: str, behind: int, tmp_path: Path
) -> None:
    for before in range(17):
        words = "x" * before, "x" * behind
        path, shown = kept(tmp_path, replace(PROFILE, title=sign.join(words)), name), "\ufffd".join(words)
        assert read_profiles(path)[0].title == shown
    hostile = with_line(accesses=(replace(ACCESS, function=f"f{sign}"), ACCESS))
    hostile = replace(hostile, recording=replace(RECORDING, command=(sign,), counts=((sign, 1),)))
    (found,) = read_profiles(kept(tmp_path, hostile, name))
    assert (found.lines[0].accesses[0].function, found.recording) == (
        "f\ufffd", replace(RECORDING, command=("\ufffd",), counts=(("\ufffd", 1),))
    )  # fmt: skip


def test_a_command_that_names_perf_c2c_does_not_make_it_a_perf_report(tmp_path: Path) -> None:
    path = kept(tmp_path, replace(PROFILE, recording=replace(RECORDING, command=("perf c2c report",))), "storm.json")
    (profile,) = read_profiles(path)
    assert profile.recording is not None
    assert profile.recording.command == ("perf c2c report",)


def test_numbers_beyond_64_bits_are_refused() -> None:
    with pytest.raises(ProfileError, match=r"x cannot store this profile: .*; name a file that ends with \.json"):
        encode_for(replace(PROFILE, lines=(replace(LINE, rank=1 << 70),)), Path("x"))


# Whatever the text, the reader ends with profiles or one ``ProfileError``, in time; no name steers a terminal


# Words that mean something to the grammar, so that random sequences get deep into it.
WORDS = (
    "1.00%", "100.00%", "0.00%", "100.0%", "n/a}", "0{", "0{0-1}", "N/A", "0-3", "0", "12",
    "99999999999999999999", "0x8", "0x40", "0x100", "0xffffffff81200010", "[k]", "[.]", "[unknown]",
    "[kernel.kallsyms]", "down_write", "down_write+12", "a.c:1", "??:0", "7:web", "server", "-" * 61, "=" * 49,
    "#", "....", "|", "---down_write", "|--50.00%--up", "Num", "RmtHitm", "LclHitm", "L1", "Hit", "Miss",
    "Offset", "Node", "PA", "cnt", "Code", "address", "load", "records", "lcl", "Symbol", "Object", "Source:Line",
    "Index", "Address", "Cacheline", "Snoop", "Total", "Pareto", "Load", "Operations", ":", ">", "=3D", "<pre>", "&gt;",
    "Before:", "Double-CL", "٣", "²", "\x00", "\x1b[1m", "\u00a0", "\ud800",
)  # fmt: skip
SPACES = (" ", "  ", "\n", "\n\n", "\r\n", "\t", "=\n", "\n> ", "\n   3\t")
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), max_size=120).map(
    lambda pairs: "".join(word + space for word, space in pairs)
)
FEW = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
# By which a text is known for a report, whatever else is in it.
TITLE = "Shared Data Cache Line Table\n"


def assert_read_or_refused(given: str | bytes) -> None:
    profiles: tuple[Profile, ...] = ()
    with suppress(ProfileError):
        profiles = read(given)
    for profile in profiles:
        assert profile.lines
        for line in profile.lines:
            assert line.bytes in (64, 128, 256)
            assert all(access.offset is None or 0 <= access.offset < line.bytes for access in line.accesses)
            assert all((access.hitm_local or 0) >= 0 for access in line.accesses)


@FEW
@given(TEXTS | st.text(max_size=400))
@example("Pareto\nN/A Offset Node Source:Line\n75.57% 0x401018 0 4\n")  # a source, and no symbol in front of it
@example("0 0xffff888100000040 0 9 N/A 50.00% 3 3 0\n")  # a word where perf up to 5.10 has the records
@example("Pareto\nlcl records cnt Symbol\n25.00% 50.38% 0.00%\n")  # more shares than the heading has
def test_words_of_the_format_in_any_order(text: str) -> None:
    assert_read_or_refused(TITLE + text)


@pytest.mark.parametrize("times", [1000, pytest.param(20_000, marks=pytest.mark.study)])
@pytest.mark.parametrize("word", [*WORDS, "1.00% 0x8 ", "0 12 ", "0{ 1 ", "|--a ", "1.00% 7:a b ", "(" * 50, "<", "&"])
def test_a_word_many_times_over(word: str, times: int) -> None:
    """Ends at all: a grammar with backtracking would not."""
    assert_read_or_refused(TITLE + (word + " ") * times + "\n" + word * times)


EVIL = "take\x1b[31m_\u202etick\x07et\x9b2J"
# What a terminal acts upon, and what turns the direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINE = CacheLine(0, 0x1000, (Access(8, EVIL + "\n", hitm_local=3, kernel=False),), hitm_local=3)
_ROW = RowSpec(8, (1, 2, 3, 4, 5), 0x401000, EVIL, f"[v{EVIL}]", "a.c:1", ".")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = "struct pair { long first, second; };\nlong take(struct pair *p) { return p->second; }\n"
    return compiled(tmp_path_factory.mktemp("program"), source)


def written(folder: Path, kind: str) -> Path:
    """A profile of that kind with names that nobody should print as they are."""
    path = folder / kind
    match kind:
        case "report.txt":
            path.write_text(f"Title {EVIL}:\n" + render(ReportSpec((LineSpec(0x1000, (_ROW,)),))))
        case "script.txt":
            perf_script(path)
            path.write_text(path.read_text().replace("f+0x1", f"{EVIL}+0x1").replace("worker", "wor\u202e\x1b[2Jker"))
        case "profile.json" | "profile":
            path.write_bytes(encode_for(Profile("", f"title {EVIL}", "hitm", (_LINE,)), path))
        case "perf.data":
            what, evil = recording(INTEL, 300)[0], f"/opt/{EVIL}"
            named = records.comm(100, 100, EVIL) + records.Mapping(100, 4096, 4096, 0, evil).record()
            hostile = replace(
                what,
                events=tuple(replace(one, name=f"take{one.name}{EVIL}") for one in what.events),
                head=what.head + named,
                computer=replace(what.computer, hostname=EVIL, release=EVIL),
                builds=what.builds + records.build_id(records.Mode.USER, evil, bytes(20)),
                command=("perf", EVIL),
            )
            write(path, hostile)
    return path


@pytest.mark.parametrize("kind", ["report.txt", "script.txt", "profile.json", "profile", "perf.data"])
@pytest.mark.parametrize("style", ["text", "json"])
def test_nothing_steers_the_terminal(kind: str, style: str, program: Path, tmp_path: Path) -> None:
    words = ("hot", program, written(tmp_path, kind), "--full", "--format", style, "--save", tmp_path / "saved.json")
    done = linesmith(*words, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = done.stdout + done.stderr + (tmp_path / "saved.json").read_text()
    assert not _STEERING.search(shown)
    assert "\\u001b" not in shown
    assert "take" in shown, "names stay readable"


def test_file_name_in_a_message(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "no\x1b[31mprofile\u202e.txt"
    path.write_text("nothing\n")
    done = linesmith("hot", program, path, cache=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not _STEERING.search(done.stderr)
