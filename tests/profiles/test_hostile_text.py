# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever the text, the reader ends with profiles or one ``ProfileError``, in time; no name steers a terminal."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from c_source import compiled
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from linesmith_command import linesmith
from profiles.c2c_text import LineSpec, ReportSpec, RowSpec, render
from profiles.example_files import perf_script
from profiles.posted import read

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CacheLine, Profile
from linesmith.plugins.profiles.recorded import encode

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
ROW = RowSpec(0, (1, 2, 3, 4, 5), 0xFFFFFFFF81000000, "down_write", "[kernel.kallsyms]", "down_write+28")
ROWS = tuple(replace(ROW, offset=offset) for offset in (0, 8, 16))
REPORT = render(ReportSpec(tuple(LineSpec(0xFFFF888100000000 + 64 * number, ROWS) for number in range(3))))


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


@FEW
@given(st.integers(0, len(REPORT)), st.integers(0, len(REPORT)), TEXTS)
def test_report_with_a_piece_cut_out_and_other_words_put_in(start: int, end: int, words: str) -> None:
    first, last = sorted((start, end))
    assert_read_or_refused(REPORT[:first] + words[:60] + REPORT[last:])


@FEW
@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    assert_read_or_refused(data)


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
        case "profile.json":
            path.write_bytes(encode(Profile("", f"title {EVIL}", "hitm", (_LINE,))))
    return path


@pytest.mark.parametrize("kind", ["report.txt", "script.txt", "profile.json"])
@pytest.mark.parametrize("style", ["text", "json"])
def test_nothing_steers_the_terminal(kind: str, style: str, program: Path, tmp_path: Path) -> None:
    done = linesmith("hot", program, written(tmp_path, kind), "--full", "--format", style, cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not _STEERING.search(done.stdout + done.stderr)
    assert "\\u001b" not in done.stdout
    assert "take" in done.stdout, "names stay readable"


def test_file_name_in_a_message(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "no\x1b[31mprofile\u202e.txt"
    path.write_text("nothing\n")
    done = linesmith("hot", program, path, cache=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not _STEERING.search(done.stderr)
