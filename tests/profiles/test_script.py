# SPDX-License-Identifier: GPL-2.0-or-later
"""One oddity of ``perf script``'s text per test; the figures are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from profiles.posted import quoted, with_carriage_returns

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CallPath, Profile, SampleOutcome
from linesmith.plugins.registry import read_profiles

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
        (one,) = read_profiles(path)
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
        "\tffffffff81200018 inlined (inlined)\n"
        "\tffffffff81300000 serve+0x20 ([kernel.kallsyms])\n"
        "\t          401136 main+0x6 (/usr/bin/shop)\n\n"
    )
    at = LOAD_LINE.index(" ffffffff81200010")
    load, _ = only_accesses(read((LOAD_LINE[:at] + chain + STORE_LINE) * 2))
    assert (load.function, load.code_address, load.hitm_local) == ("take_ticket", 0xFFFFFFFF81200010, 2)
    assert load.call_paths == (CallPath(("inlined", "serve", "main"), 2),)


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
        (quoted(TEXT), {}, ""),
        (with_carriage_returns(TEXT), {}, ""),
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


def test_without_any_data_source_the_fields_to_ask_for_are_named(tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text("  sh  12 [000]  1.000001:  1 cycles: ffffffff81200010 f+0x1 ([k])\n" * 3)
    with pytest.raises(ProfileError, match=r"is text of .* without data sources; .* -F .pid,.addr,.data_src"):
        read_profiles(path)


def test_a_header_without_samples_is_what_perf_leaves_where_an_event_has_no_data_source(tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(HEADER)
    with pytest.raises(ProfileError, match=r"script.txt holds .* header .* but no sample: .* such as cycles"):
        read_profiles(path)


@pytest.mark.parametrize(
    "text", ["# cmdline : /usr/bin/make\n# all went well\n", HEADER + "int main(void) { return 0; }\n"]
)
def test_remarks_that_are_no_header_are_not_taken_for_one(text: str, read: Callable[[str], Profile]) -> None:
    with pytest.raises(ProfileError, match="is not a profile in a known format"):
        read(text)


IN_MAIN = (5, 0x401136, "main", "/a")
CUT_WORDS = "1e802800142 |OP LOAD|LVL Remote core, same node Any cache hit|SNP HitM or Peer|TLB L1 or L"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"7fff0048 {HITM}", (None, None, None, None)),
        (f"12.500001: 7fff0048 {HITM}    5   7    0   401136 main+0x6 (/a)", IN_MAIN),
        (f"ev: 7fff0048 {HITM}|AFF N/A  5 401136 [unknown] ([vdso])", (5, 0x401136, None, "[vdso]")),
        *(
            (f"ev: 7fff0048 {HITM.removesuffix('BLK  N/A')}{last}  5 401136 main+0x6 (/a)", IN_MAIN)
            for last in ("BLK  N/A", "BLK  N", "BLK ", "BL", "", "BLK  Data Addr", "BLK  Data Ad")
        ),
        (f"ev: 7fff0048 {CUT_WORDS}    5 401136 main+0x6 (/a)", IN_MAIN),
        (f"ev: 7fff0048 {HITM}  5 401136 main (/a+0x1136)", IN_MAIN),
        (f"ev: 7fff0048 {HITM}  5 7f00c0de0000", (5, 0x7F00C0DE0000, None, None)),
        (f"ev: 7fff0048 {HITM}  5 /system.slice 401136 main+0x6 (/a) 4K", IN_MAIN),
        (f"ev: 7fff0048 {HITM}  5 401136 f(int (*)(char))+0x6 (/dev/zero (deleted)) 10ab",
            (5, 0x401136, "f(int (*)(char))", "/dev/zero (deleted)")),
        (f"ev: 7fff0048 {HITM}  5 401136 operator|(a, b) (/a) insn: 48 8b 07 10ab",
            (5, 0x401136, "operator|(a, b)", "/a")),
    ],
)  # fmt: skip
def test_fields_are_told_by_their_looks(
    line: str, expected: tuple[int | None, int | None, str | None, str | None], read: Callable[[str], Profile]
) -> None:
    """Beside another sample that makes the line a shared one."""
    found, _ = only_accesses(read(f"{line}\nev: 7fff0050 {HITM} 5 401000 other+0x1 (/b)\n"))
    cycles = max(found.cycles_local or 0, found.cycles_remote or 0, found.cycles_load or 0) or None
    assert (cycles, found.code_address, found.function, found.object_file) == expected


@pytest.mark.parametrize(
    "word", [" ([a", " (a", ")a", "+0x1", " 1", " ffff", "|A ", "|BLK", "a: ", "[0] ", "1.5: ", " |OP "]
)
@pytest.mark.parametrize("front", ["ev: 7fff0048 ", ""])
def test_a_word_many_times_over(front: str, word: str, read: Callable[[str], Profile]) -> None:
    """Ends at all: a grammar with backtracking would not."""
    many = word * 5000
    hostile = f"{front}{HITM} 5 401136 f{many}\n{front}{many} {HITM}\n{front}|OP LOAD{many}\n"
    assert read(TEXT + hostile).lines


@pytest.mark.parametrize(
    ("front", "process", "cpu"),
    [
        ("Web Content 12 4711/4712 [003] U 12.500001: 1 ev:", "4711:Web Content 12", 3),
        ("swapper     0 [001] 2026-01-02 10:00:00.000001 1.5: ev:", None, 1),
        (":-1 -1/-1 [002] 1.5: 1 ev:", None, 2),
    ],
)
def test_what_stands_in_front(front: str, process: str | None, cpu: int, read: Callable[[str], Profile]) -> None:
    (access,) = read(f"{front} 7fff0048 {HITM} 5 401136 main (/a)\n").lines[0].accesses
    assert (access.process, [one.cpu for one in access.by_cpu], access.function) == (
        process or access.process,
        [cpu],
        "main",
    )


def test_samples_of_a_guest_s_program_are_counted_apart(read: Callable[[str], Profile]) -> None:
    guest = f"VM: 9000 VCPU:001 qemu 9000/9001 [007] g 1.000000001: ev: 7fff0048 {HITM} 5 401136 main (/a)\n"
    assert outcomes(read(TEXT + guest)) == {SampleOutcome.SHARED_LINE: 6, SampleOutcome.GUEST: 1}
