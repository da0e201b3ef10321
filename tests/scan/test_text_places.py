# SPDX-License-Identifier: GPL-2.0-or-later
"""What text alone shows of a record: one way to rely on it in each test."""

from __future__ import annotations

import pytest

from linesmith.patches.scan.text_places import RecordText


def told(text: str, file: str = "drivers/x.c", record: str = "rec") -> list[tuple[str, tuple[str, ...], int]]:
    """Kind, members and number of values of each place."""
    places = RecordText(record).places(file, text.encode()).places
    return [(one.kind.value, one.members, one.given) for one in places]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("struct rec r = { 1, 2 };", 2),
        ("static const struct rec r __read_mostly = { f(1, 2), .b = 3 };", 1),
        ("struct rec r[] = { { 1 }, { 1, 2, 3 }, { .a = 1 } };", 3),
        ("struct rec r[2] = { [0] = { 1, 2 } };", 2),
        ("*p = (struct rec) { 1, 2, };", 2),
    ],
)
def test_values_by_their_place_are_counted(text: str, given: int) -> None:
    assert told(text) == [("positional initialiser", (), given)]


@pytest.mark.parametrize(
    "text",
    [
        "struct rec r = { 0 };",
        "struct rec r = { };",
        "struct rec r = {{ 0 }};",
        "struct rec r = { .a = 1, .b = { 1, 2 } };",
        "struct rec r = { a: 1, b: 2 };",
        "struct rec r[] = { REC(1, 2), REC(3, 4) };",
        "/* struct rec r = { 1, 2 }; */",
        "struct recorder r = { 1, 2 };",
    ],
)
def test_what_names_its_members_or_only_clears_is_none(text: str) -> None:
    assert told(text) == []


def test_asserted_offsets_are_named() -> None:
    assert told("BUILD_BUG_ON(offsetof(struct rec, a) != 8);") == [("static assertion", ("a",), 0)]


def test_an_asserted_size_is_of_the_whole() -> None:
    assert told('_Static_assert(sizeof(struct rec) == 64, "");') == [("static assertion", (), 0)]


def test_the_asserted_size_of_a_member_says_nothing_of_the_order() -> None:
    assert told("BUILD_BUG_ON(sizeof_field(struct rec, a) != 4);") == []


def test_a_difference_of_offsets_is_a_range() -> None:
    text = "n = offsetof(struct rec, d) - offsetof(struct rec, b);"
    assert told(text) == [("range between offsets", ("d", "b"), 0)]


def test_a_difference_inside_one_member_is_none() -> None:
    assert told("n = offsetof(struct rec, d.y) - offsetof(struct rec, d.x);") == []


def test_clearing_up_to_a_member_is_a_copy_of_a_part() -> None:
    assert told("memset(r, 0, offsetof(struct rec, c));") == [("copy or clear of a part", ("c",), 0)]


def test_an_offset_alone_is_none() -> None:
    assert told("table[i].offset = offsetof(struct rec, c);") == []


def test_offsets_for_assembly_are_told_once_for_each_member() -> None:
    text = "OFFSET(REC_A, rec, a);\nOFFSET(REC_BX, rec, b.x);\nOFFSET(REC_BY, rec, b.y);"
    expected = [("offset for assembly", ("a",), 0), ("offset for assembly", ("b",), 0)]
    assert told(text, "arch/arm/kernel/asm-offsets.c") == expected


def test_a_bpf_program_is_told_once() -> None:
    text = '#include "vmlinux.h"\nint f(struct rec *r) { return r->a; }\nint g(struct rec *r) { return r->b; }'
    assert told(text, "tools/x.bpf.c") == [("BPF program that relocates its accesses", (), 0)]


def test_a_bpf_program_that_only_hands_it_on_is_none() -> None:
    assert told('#include "vmlinux.h"\nint f(struct rec *r) { return g(r); }', "tools/x.bpf.c") == []


def test_a_header_of_user_space_is_an_interface() -> None:
    text = "struct rec {\n\tint a;\n};"
    assert told(text, "include/uapi/linux/rec.h") == [("user space interface", (), 0)]
    assert told(text, "include/linux/rec.h") == []


def test_programs_beside_a_kernel_have_records_of_their_own() -> None:
    assert told("struct rec r = { 1, 2 };", "tools/perf/x.c") == []


def test_broken_text_is_no_error() -> None:
    assert told("struct rec r = { 1, (2 };") == []
