# SPDX-License-Identifier: GPL-2.0-or-later
"""One oddity of ``perf script``'s text per test; the figures are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from profiles.mangling import as_base64_mail, as_web_page, numbered, quoted, quoted_printable, with_carriage_returns

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Access, Profile, SampleOutcome
from linesmith.plugins.profiles.script import PerfScript
from linesmith.plugins.profiles.script_line import Place, read_place, read_sample
from linesmith.plugins.registry import read_profiles

MANGLERS = (quoted, quoted_printable, with_carriage_returns, as_web_page, as_base64_mail, numbered)
# A load of a line that is modified in another cache (L3, HITM), and a store that hits the L1.
HITM = "          800842 |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A"
STORE = "         5080144 |OP STORE|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A    "
HEADER = (
    "# ========\n# os release : 6.1.0-test\n# arch : x86_64\n# nrcpus avail : 4\n# node0 cpu list : 0-1\n"
    "# node1 cpu list : 2,3\n# cmdline : /usr/bin/perf c2c record -a\n# ========\n#\n"
)
LOAD_LINE = (
    f"          worker    4711/4712    [000]    12.500001:          1 cpu/mem-loads,ldlat=30/P: ffff888100000048 {HITM}"
    "             300 ffffffff81200010 take_ticket+0x10 ([kernel.kallsyms])         1000048\n"
)
STORE_LINE = (
    f"          worker    4711/4713    [002]    12.500002:          1        cpu/mem-stores/P: ffff888100000050 {STORE}"
    "               0 ffffffff81200020 give_ticket+0x20 ([kernel.kallsyms])         1000050\n"
)
TEXT = HEADER + (LOAD_LINE + STORE_LINE) * 3


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Profile]:
    def profile(text: str) -> Profile:
        path = tmp_path / "script.txt"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        assert PerfScript().recognises(text.encode("utf-8", "surrogateescape")[:65536])
        (one,) = PerfScript().read(path, "script.txt")
        return one

    return profile


def outcomes(profile: Profile) -> dict[SampleOutcome, int]:
    assert profile.sampling is not None
    return {outcome: count for outcome, count in profile.sampling.outcomes if count}


def only_accesses(profile: Profile) -> tuple[Access, Access]:
    (line,) = profile.lines
    first, second = sorted(line.accesses, key=lambda access: access.offset or 0)
    return first, second


def test_samples_become_the_line_that_they_share(read: Callable[[str], Profile]) -> None:
    profile = read(TEXT)
    load, store = only_accesses(profile)
    assert (profile.lines[0].address, load.offset, store.offset) == (0xFFFF888100000040, 8, 16)
    assert (load.function, load.hitm_local, load.cycles_local) == ("take_ticket", 3, 300)
    assert (store.function, store.stores_l1_hit, store.code_address) == ("give_ticket", 3, 0xFFFFFFFF81200020)
    assert [(counts.cpu, counts.node) for counts in (*load.by_cpu, *store.by_cpu)] == [(0, 0), (2, 1)]
    assert outcomes(profile) == {SampleOutcome.SHARED_LINE: 6}
    assert profile.events == ("cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P")
    sampling = profile.sampling
    assert sampling is not None
    assert (sampling.release, sampling.machine, sampling.cpus) == ("6.1.0-test", "x86_64", 4)
    assert sampling.command == "/usr/bin/perf c2c record -a"


ELSEWHERE = TEXT.replace("ffffffff812000", "ffff8000812000")
ANOTHER = LOAD_LINE.replace("ffffffff81200010", "ffff800081300010")


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        (ELSEWHERE + LOAD_LINE.replace("12.5", "13.5"), ("take_ticket", 0xFFFF800081200000)),  # the most sampled one
        (ELSEWHERE.replace("give_ticket", "take_ticket") + ANOTHER, None),  # there are two of that name
        (TEXT, None),  # on x86 the few distances that there are can all be tried
    ],
)
def test_symbols_tell_how_far_a_kernel_was_moved(
    text: str, anchor: tuple[str, int] | None, read: Callable[[str], Profile]
) -> None:
    sampling = read(text).sampling
    assert sampling is not None
    assert sampling.anchor == anchor


def test_call_chains_follow_on_their_own_lines(read: Callable[[str], Profile]) -> None:
    chain = (
        "\n\tffffffff81200010 take_ticket+0x10 ([kernel.kallsyms])\n"
        "\tffffffff81300000 serve+0x20 ([kernel.kallsyms])\n"
        "\t          401136 main+0x6 (/usr/bin/shop)\n\n"
    )
    at = LOAD_LINE.index(" ffffffff81200010")
    load, _ = only_accesses(read((LOAD_LINE[:at] + chain + STORE_LINE) * 2))
    assert (load.function, load.code_address, load.hitm_local) == ("take_ticket", 0xFFFFFFFF81200010, 2)
    assert load.callers == ("serve", "main")


NO_PROCESS = ("4711/4712", "     4712", "4711/4713", "     4713")
PROGRAM = ("ffff8881", "7fff0001", "ffffffff81", "55f0c0de", "([kernel.kallsyms])", "(/a)")
OTHER_EVENT = (
    "          worker    4711/4712    [000]    12.600000:     250000 cycles:P:  ffffffff81200010 f+0x1 ([k])\n"
)
LOST = "          worker    4711/4712    [000]    12.600000: PERF_RECORD_LOST lost 17\n"
CUT = LOAD_LINE[: LOAD_LINE.index(" |OP")]


def changed(*pairs: str) -> str:
    text = TEXT
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("text", "others", "remark"),
    [
        (changed(*NO_PROCESS), {}, "have no process"),
        (changed(*NO_PROCESS, *PROGRAM), {}, "have no process"),  # threads of a program share its lines all the same
        (changed("[000]", "", "[002]", ""), {}, "6 of 6 samples have no CPU"),
        (TEXT + OTHER_EVENT, {SampleOutcome.NO_ACCESS: 1}, ""),
        (TEXT + CUT, {SampleOutcome.NOT_READ: 1}, ""),
        (TEXT + LOST, {SampleOutcome.LOST: 17}, ""),
        *((mangle(TEXT), {}, "") for mangle in MANGLERS),
    ],
)
def test_samples_are_counted_under_one_outcome_each(
    text: str, others: dict[SampleOutcome, int], remark: str, read: Callable[[str], Profile]
) -> None:
    profile = read(text)
    assert outcomes(profile) == {SampleOutcome.SHARED_LINE: 6, **others}
    assert len(profile.lines) == 1
    assert remark in " ".join(one.text for one in profile.remarks)


def test_lines_of_two_processes_at_one_address_are_two(read: Callable[[str], Profile]) -> None:
    user = changed(*PROGRAM)
    assert [line.hitm_local for line in read(user + user.replace("4711/", "  99/")).lines] == [3, 3]


def test_only_the_words_of_the_data_source_are_left(read: Callable[[str], Profile]) -> None:
    profile = read(TEXT.replace("800842 |OP", " |OP").replace("5080144 |OP", " |OP"))
    load, store = only_accesses(profile)
    assert (load.hitm_local, store.stores_l1_hit) == (3, 3)


def test_without_any_data_source_the_fields_to_ask_for_are_named(tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text("  sh  12 [000]  1.000001:  1 cycles: ffffffff81200010 f+0x1 ([k])\n" * 3)
    with pytest.raises(ProfileError, match=r"^given is text of .* without data sources; .* -F \+pid,\+addr,\+data_src"):
        PerfScript().read(path, "given")


def test_a_header_without_samples_is_what_perf_leaves_where_an_event_has_no_data_source(tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(HEADER)
    with pytest.raises(ProfileError, match=r"script.txt holds .* header .* but no sample: .* such as cycles"):
        read_profiles(path)


def test_remarks_that_are_no_header_are_not_taken_for_one() -> None:
    assert not PerfScript().recognises(b"# cmdline : /usr/bin/make\n# all went well\n")
    assert not PerfScript().recognises(HEADER.encode() + b"int main(void) { return 0; }\n")


@pytest.mark.parametrize(
    ("line", "address", "weight", "place"),
    [
        (f"ffff888100000048 {HITM}", 0xFFFF888100000048, None, Place()),
        (f"{HITM}\t\t    47", None, 47, Place()),
        (f"12.500001: 7fff0048 {HITM}    5   7    0   401136 main+0x6 (/a)", 0x7FFF0048, 5,
            Place(0x401136, "main", "/a")),
        (f"ev: 7fff0048 {HITM}|AFF N/A  5 401136 [unknown] ([vdso])", 0x7FFF0048, 5, Place(0x401136, None, "[vdso]")),
        (f"ev: 7fff0048 {HITM[:-9]}  5 401136 main+0x6 (/a)", 0x7FFF0048, 5, Place(0x401136, "main", "/a")),
        (f"ev: 7fff0048 {HITM}  5 401136 main (/a+0x1136)", 0x7FFF0048, 5, Place(0x401136, "main", "/a")),
        (f"ev: 7fff0048 {HITM}  5 7f00c0de0000", 0x7FFF0048, 5, Place(0x7F00C0DE0000)),
        (f"ev: 7fff0048 {HITM}  5 /system.slice 401136 main+0x6 (/a) 4K", 0x7FFF0048, 5, Place(0x401136, "main", "/a")),
        (f"ev: 7fff0048 {HITM}  5 401136 f(int (*)(char))+0x6 (/dev/zero (deleted)) 10ab", 0x7FFF0048, 5,
            Place(0x401136, "f(int (*)(char))", "/dev/zero (deleted)")),
        (f"ev: 7fff0048 {HITM}  5 401136 operator|(a, b) (/a) insn: 48 8b 07 10ab", 0x7FFF0048, 5,
            Place(0x401136, "operator|(a, b)", "/a")),
    ],
)  # fmt: skip
def test_fields_are_told_by_their_looks(line: str, address: int | None, weight: int | None, place: Place) -> None:
    sample = read_sample(line)
    assert sample is not None
    assert (sample.address, sample.source, sample.weight) == (address, 0x800842, weight)
    assert sample.place._replace(start=None) == place


def test_words_that_perf_cut_at_its_buffer() -> None:
    cut = "ffff888100000048  1e802800142 |OP LOAD|LVL Remote core, same node Any cache hit|SNP HitM or Peer|TLB L1 or L"
    sample = read_sample(f"ev: {cut}             300 ffffffff81200010 f+0x1 ([k])")
    assert sample is not None
    assert (sample.source, sample.weight, sample.place.symbol) == (0x1E802800142, 300, "f")


@pytest.mark.parametrize(
    "word", [" ([a", " (a", ")a", "+0x1", " 1", " ffff", "|A ", "|BLK", "a: ", "[0] ", "1.5: ", " |OP "]
)
@pytest.mark.parametrize("front", ["ev: 7fff0048 ", ""])
def test_a_word_many_times_over(front: str, word: str) -> None:
    """Ends at all: a grammar with backtracking would not."""
    many = word * 5000
    for line in (f"{front}{HITM} 5 401136 f{many}", f"{front}{many} {HITM}", f"{front}|OP LOAD{many}"):
        assert read_sample(line) is not None


def test_inlined_functions_have_no_object() -> None:
    assert read_place(0x401136, "take (inlined)") == Place(0x401136, "take")


@pytest.mark.parametrize("blocked", ["BLK  N/A", "BLK  N", "BLK ", "BL", "", "BLK  Data Addr", "BLK  Data Ad"])
def test_last_field_may_be_cut(blocked: str) -> None:
    sample = read_sample(f"ev: 7fff0048 {HITM.removesuffix('BLK  N/A')}{blocked}           300 401136 f+0x1 (/a)")
    assert sample is not None
    assert (sample.source, sample.weight, sample.place.symbol) == (0x800842, 300, "f")


@pytest.mark.parametrize(
    ("front", "command", "process", "cpu", "mode"),
    [
        ("Web Content 12 4711/4712 [003] U 12.500001: 1 ev:", "Web Content 12", (4711, 4712), 3, "U"),
        ("VM: 9000 VCPU:001 qemu 9000/9001 [007] g 1.000000001: ev:", "qemu", (9000, 9001), 7, "g"),
        ("swapper     0 [000] 2026-01-02 10:00:00.000001 1.5: ev:", "swapper", (None, 0), 0, ""),
        (":-1 -1/-1 [000] 1.5: 1 ev:", ":-1", (-1, -1), 0, ""),
    ],
)
def test_what_stands_in_front(
    front: str, command: str, process: tuple[int | None, int | None], cpu: int, mode: str
) -> None:
    sample = read_sample(f"{front} 7fff0048 {HITM} 5 401136 main (/a)")
    assert sample is not None
    task = sample.task
    assert (task.command, (task.pid, task.tid), task.cpu, task.mode) == (command, process, cpu, mode)
    assert sample.address == 0x7FFF0048


@pytest.mark.parametrize(("written", "nanoseconds"), [("12.500001", 12_500_001_000), ("12.500001002", 12_500_001_002)])
def test_the_time_of_a_sample_is_read_to_the_nanosecond(written: str, nanoseconds: int) -> None:
    sample = read_sample(LOAD_LINE.replace("12.500001", written))
    assert sample is not None
    assert sample.task.nanoseconds == nanoseconds
