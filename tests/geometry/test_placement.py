# SPDX-License-Identifier: GPL-2.0-or-later
"""Where C puts members: one rule per test, then random structs against the real compilers."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import bits, flexible, held, offsets, scalar, struct, union
from hypothesis import given
from hypothesis import strategies as st

from linesmith.analyzer.geometry.inference import with_inferred_alignment
from linesmith.analyzer.geometry.placement import end_of, first_bit, place, place_shapes, refusal, shape_of
from linesmith.analyzer.model import Layout, Member

CHAR, SHORT, INT, LONG = (scalar(name, size) for name, size in (("c", 1), ("s", 2), ("i", 4), ("l", 8)))
INT_LATE = replace(INT, offset=8)


def starts(*members: Member) -> tuple[int, ...]:
    """First bytes of the members in this order."""
    return tuple(start // 8 for start in place(members).starts)


def test_a_member_starts_at_the_next_multiple_of_its_alignment() -> None:
    assert starts(CHAR, INT, CHAR, LONG) == (0, 4, 8, 16)


def test_the_size_is_a_multiple_of_the_largest_alignment() -> None:
    assert place([LONG, CHAR]).size == 16


def test_the_order_alone_decides_the_size() -> None:
    assert place([CHAR, LONG, CHAR]).size == 24
    assert place([LONG, CHAR, CHAR]).size == 16


def test_an_explicit_alignment_moves_the_member_and_rounds_the_record() -> None:
    placed = place([LONG, scalar("lock", 4, align=64), INT])
    assert (placed.starts, placed.size, placed.alignment) == ((0, 512, 544), 128, 64)


def test_an_alignment_of_the_record_pads_its_end_only() -> None:
    assert place([INT, INT], record_alignment=64).size == 64


def test_bit_fields_share_a_storage_unit() -> None:
    assert place([bits("a", 3), bits("b", 5), bits("c", 24)]).starts == (0, 3, 8)


def test_a_bit_field_that_would_cross_its_unit_starts_the_next_one() -> None:
    assert place([bits("a", 30), bits("b", 3)]).starts == (0, 32)


def test_a_bit_field_may_share_the_unit_of_the_member_before_it() -> None:
    assert place([CHAR, bits("a", 8)]).starts == (0, 8)


def test_a_member_may_follow_within_the_unit_of_a_bit_field() -> None:
    assert place([bits("a", 3), CHAR]).starts == (0, 8)


def test_an_empty_member_takes_no_room_but_is_aligned() -> None:
    assert starts(CHAR, scalar("marker", 0, align=8), INT) == (0, 8, 8)


def test_a_flexible_array_counts_for_alignment_only() -> None:
    assert place([INT, flexible("rest", 8)]).size == 8


def test_a_struct_of_nothing_has_no_size() -> None:
    assert place([]).size == 0


def test_own_order_reproduced_means_no_refusal() -> None:
    assert refusal(struct("s", INT, LONG, bits("a", 3))) is None


def test_a_union_is_refused() -> None:
    assert "union" in (refusal(union("u", INT, LONG)) or "")


def test_a_packed_struct_is_refused() -> None:
    layout = struct("s", CHAR, replace(INT, name="late"))
    packed = replace(layout, size=5, members=(layout.members[0], replace(layout.members[1], offset=1)))
    assert "packed" in (refusal(packed) or "")


def test_a_struct_packed_at_its_end_is_refused() -> None:
    assert "packed" in (refusal(replace(struct("s", INT, CHAR), size=5)) or "")


def test_overlapping_members_are_refused() -> None:
    layout = struct("s", INT, replace(INT, name="j"))
    overlap = replace(layout, members=(layout.members[0], replace(layout.members[1], offset=0)))
    assert refusal(overlap) == "j overlaps the member before it"


def test_a_hole_that_no_rule_explains_is_refused() -> None:
    layout = struct("s", INT, CHAR, LONG)
    odd = replace(layout, members=(*layout.members[:1], replace(layout.members[1], offset=6), layout.members[2]))
    assert refusal(odd) == "c is not where C's rules put it"


def test_a_size_that_no_rule_explains_is_refused() -> None:
    assert refusal(replace(struct("s", INT), size=32)) == "its size is 32 bytes where C's rules give 4"


MEMBERS = st.one_of(
    st.builds(scalar, st.just("m"), st.sampled_from([0, 1, 2, 4, 8, 12, 24, 40]), st.sampled_from([None, 16, 64])),
    st.builds(bits, st.just("b"), st.integers(1, 8), st.sampled_from([1, 2, 4, 8])),
)


@given(st.lists(MEMBERS, max_size=12), st.sampled_from([None, 8, 64]))
def test_members_never_overlap_and_are_aligned(members: list[Member], align: int | None) -> None:
    layout = struct("s", *members, align=align)
    end = 0
    for member in layout.members:
        assert first_bit(member) >= end
        end = first_bit(member) + (member.size * 8 if member.bit_size is None else member.bit_size)
        if member.bit_size is None:
            assert member.offset % max(member.natural_alignment, member.alignment or 1) == 0
    assert layout.size * 8 >= end
    assert layout.size % (align or 1) == 0


@given(st.lists(MEMBERS, max_size=12))
def test_what_was_placed_is_never_refused(members: list[Member]) -> None:
    assert refusal(struct("s", *members)) is None


@given(st.lists(MEMBERS, max_size=12), st.integers(0, 600))
def test_the_end_alone_is_that_of_the_places(members: list[Member], end: int) -> None:
    shapes = [shape_of(member) for member in members]
    assert end_of(shapes, end) == place_shapes(shapes, end=end).end


# (declaration with %s for the name, the member as the model has it)
DECLARATIONS: tuple[tuple[str, Member], ...] = (
    ("char %s", scalar("", 1)),
    ("short %s", scalar("", 2)),
    ("int %s", scalar("", 4)),
    ("long %s", scalar("", 8)),
    ("void *%s", scalar("", 8)),
    ("char %s[13]", scalar("", 13)),
    ("int %s[3]", scalar("", 12)),
    ("struct { long a; char b; } %s", scalar("", 16)),
    ("union { short a; char b[6]; } %s", scalar("", 6)),
    ("struct { } %s", replace(scalar("", 1), size=0)),
    ("int %s __attribute__((aligned(64)))", scalar("", 4, align=64)),
    ("char %s __attribute__((aligned(16)))", scalar("", 1, align=16)),
    ("int %s : 3", bits("", 3)),
    ("unsigned int %s : 17", bits("", 17)),
    ("unsigned char %s : 5", bits("", 5, size=1)),
    ("_Bool %s : 1", bits("", 1, size=1)),
    ("unsigned short %s : 9", bits("", 9, size=2)),
    ("unsigned long %s : 40", bits("", 40, size=8)),
)
STRUCTS = 150


def random_structs() -> list[tuple[str, Layout]]:
    """C bodies with the layouts expected of them; every second one is the one before in another order."""
    choice = random.Random(64)  # noqa: S311 - repeatable on purpose
    found: list[tuple[str, Layout]] = []
    while len(found) < STRUCTS:
        picked = [choice.choice(DECLARATIONS) for _ in range(choice.randint(1, 9))]
        named = [(text % f"m{n}", replace(member, name=f"m{n}")) for n, (text, member) in enumerate(picked)]
        for _ in range(2):
            body = " ".join(f"{text};" for text, _ in named)
            found.append((body, struct("s", *(member for _, member in named))))
            choice.shuffle(named)
    return found


def probe(number: int, body: str, layout: Layout) -> str:
    """C that prints the size and the first bit of each member: where a member of all ones begins to show."""
    rows = [f'{{ static struct {{ {body} }} s; printf("%d size %zu\\n", {number}, sizeof s);']
    for member in layout.members:
        if member.bit_size is None:
            rows.append(f'printf("%d {member.name} %zu\\n", {number}, 8 * ((char *)&s.{member.name} - (char *)&s));')
        else:
            rows.append(f"memset(&s, 0, sizeof s); s.{member.name} = -1;")
            rows.append(f'printf("%d {member.name} %zu\\n", {number}, first_bit(&s, sizeof s));')
    return "\n".join([*rows, "}"])


FIRST_BIT = """#include <stdio.h>
#include <string.h>
static size_t first_bit(const void *at, size_t size) {
  const unsigned char *bytes = at;
  for (size_t bit = 0; bit < 8 * size; bit++) if (bytes[bit / 8] >> bit % 8 & 1) return bit;
  return ~(size_t)0;
}
int main(void) {
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_random_structs_are_placed_as_the_compiler_places_them(compiler: str, tmp_path: Path) -> None:
    found = shutil.which(compiler) or shutil.which(f"{compiler}-19")
    if found is None:
        pytest.skip(f"no {compiler} on this machine")
    structs = random_structs()
    source, program = tmp_path / "structs.c", tmp_path / "structs"
    probes = [probe(number, body, layout) for number, (body, layout) in enumerate(structs)]
    source.write_text(FIRST_BIT + "\n".join(probes) + "\n}\n")
    subprocess.run([found, "-w", "-o", program, source], check=True, timeout=300)
    said = subprocess.run([program], check=True, timeout=300, capture_output=True, text=True).stdout.split("\n")
    expected = [
        f"{number} {name} {value}"
        for number, (_, layout) in enumerate(structs)
        for name, value in [("size", layout.size), *((m.name, first_bit(m)) for m in layout.members)]
    ]
    assert said[:-1] == expected


def test_offsets_of_a_nested_record_follow_its_alignment() -> None:
    inner = struct("inner", CHAR, LONG)
    assert offsets(struct("s", INT, held("inside", inner)))["inside"] == 8


def test_an_unnamed_bit_field_of_width_zero_shows_by_the_next_unit() -> None:
    layout = struct("s", bits("a", 3), replace(bits("b", 1), alignment=4), INT)
    silent = replace(layout, members=(layout.members[0], replace(layout.members[1], alignment=None), INT_LATE))
    assert refusal(silent) == "b is not where C's rules put it"
    assert refusal(with_inferred_alignment(silent)) is None


def test_an_alignment_that_the_producer_did_not_tell_shows_by_the_hole() -> None:
    layout = struct("s", LONG, scalar("lock", 4, align=64))
    silent = replace(layout, members=(layout.members[0], replace(layout.members[1], alignment=None)))
    assert refusal(silent) is not None
    assert with_inferred_alignment(silent).members[1].alignment == 64
    assert refusal(with_inferred_alignment(silent)) is None
