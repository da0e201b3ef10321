# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that depends on the order of members: one way per test, planted, with what the program says of it inline."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from source_scan.conftest import Scanned

# The members of `rec` begin at 0, 8, 12, 16, 24, 32 and 40 bytes.
PRELUDE = """\
typedef unsigned long size_t;
void *memset(void *, int, size_t); void *memcpy(void *, const void *, size_t); void free(void *);
void kmem_cache_free(void *, void *); unsigned long copy_to_user(void *, const void *, unsigned long);
#define offsetof(t, m) __builtin_offsetof(t, m)
#define container_of(p, t, m) ({ void *__p = (void *)(p); ((t *)(__p - offsetof(t, m))); })
#define BUILD_BUG_ON(c) do { __attribute__((error("x"))) extern void bad(void); if (!(!(c))) bad(); } while (0)
#define BUILD_BUG_ON_ZERO(e) ((int)(sizeof(struct { int:(-!!(e)); })))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
struct node { struct node *next; };
struct rec { struct node n; int a; int b; long c; struct node m; char d[8]; int e; };
struct outer { int x; struct rec r; };
"""
Depending = Callable[..., list[str]]


@pytest.fixture
def depending(scanned: Scanned) -> Depending:
    """What depends on the order in the body of a function, or in declarations: ``kind: members ...``."""

    def list_dependencies(body: str, *records: str, declarations: str = "") -> list[str]:
        function = f"long f(struct rec *r, struct outer *o, struct node *n)\n{{\n{body}\n\treturn 0;\n}}\n"
        return [_text(entry) for entry in scanned(f"{PRELUDE}{declarations}\n{function}", *records)["dependencies"]]

    return list_dependencies


def _text(entry: dict[str, object]) -> str:
    members = entry["members"]
    assert isinstance(members, list)
    limit = f" {entry['relation']} {entry['bytes']}" if entry["relation"] else ""
    return f"{entry['kind']}: {' '.join(members) or 'all'}{limit}{'' if entry['binds'] else ' (free)'}"


# Initialisers


def test_values_without_names_depend_on_the_members_they_reach(depending: Depending) -> None:
    assert depending("struct rec w = { { 0 }, 1, 2 };") == ["positional initialiser: n a b"]


def test_values_with_names_depend_on_nothing(depending: Depending) -> None:
    assert depending("struct rec w = { .b = 1, .a = 2, .n = { .next = n } };") == []


def test_a_value_behind_a_named_one_depends_on_both(depending: Depending) -> None:
    assert depending("struct rec w = { .a = 1, 2, .d = { 3 } };") == ["positional initialiser: a b"]


@pytest.mark.parametrize("zero", ["{ 0 }", "{}", "{ 0, }"])
def test_zeros_for_all_depend_on_nothing(depending: Depending, zero: str) -> None:
    assert depending(f"struct rec w = {zero}; struct outer v = {zero};", "rec", "outer") == []


def test_braces_in_braces_depend_on_the_first_member(depending: Depending) -> None:
    assert depending("struct rec w = { { 0 } };") == ["positional initialiser: n"]


def test_rows_of_a_table_are_told_once(scanned: Scanned) -> None:
    unit = scanned("struct rec { int a, b; }; struct rec t[] = { { 1 }, { 2, 3 }, [5] = { .a = 1 } };")
    assert [(entry["members"], entry["count"]) for entry in unit["dependencies"]] == [(["a", "b"], 2)]


def test_braces_left_out_count_for_the_record_inside(depending: Depending) -> None:
    assert depending("struct outer v = { 1, 0, 2, 3 };") == ["positional initialiser: n a b"]


def test_values_that_a_macro_gives_are_told_where_it_is_used(scanned: Scanned) -> None:
    unit = scanned("struct rec { int a, b; };\n#define INIT(x) \\\n  { x, 2 }\nstruct rec v = INIT(1);\n")
    (entry,) = unit["dependencies"]
    assert (entry["line"], entry["text"], entry["macro"]) == (4, "struct rec v = INIT(1);", "INIT")
    assert entry["written"].endswith("case.c:3")


# Offsets


def test_an_offset_as_a_value_is_worked_out_again(depending: Depending) -> None:
    assert depending("size_t at = offsetof(struct rec, b);") == ["offsetof: b (free)"]


def test_the_difference_of_two_offsets_is_a_range(depending: Depending) -> None:
    assert depending("size_t l = offsetof(struct rec, d) - offsetof(struct rec, b);") == [
        "range between offsets: b c m d"
    ]


def test_an_offset_with_the_members_size_reaches_from_the_beginning(depending: Depending) -> None:
    assert depending("size_t l = offsetof(struct rec, b) + sizeof(((struct rec *)0)->b);") == [
        "range between offsets: n a b"
    ]


def test_the_records_size_without_an_offset_is_all_behind_it(depending: Depending) -> None:
    assert depending("size_t l = sizeof(struct rec) - offsetof(struct rec, m);") == ["range between offsets: m d e"]


def test_a_range_of_case_labels_is_one_of_members(depending: Depending) -> None:
    body = "switch (o->x) { case offsetof(struct rec, a) ... offsetof(struct rec, b): return 1; }"
    assert depending(body) == ["range between offsets: a b"]


def test_the_difference_of_two_addresses_is_a_range(depending: Depending) -> None:
    assert depending("long l = (char *)&r->c - (char *)&r->a;") == ["range between offsets: a b c"]


def test_offsets_through_a_record_inside_count_for_both(depending: Depending) -> None:
    assert depending("size_t at = offsetof(struct outer, r.b);", "rec", "outer") == [
        "offsetof: b (free)",
        "offsetof: r (free)",
    ]


# Assertions


def test_a_static_assertion_tells_what_has_to_hold(depending: Depending) -> None:
    assert depending('_Static_assert(offsetof(struct rec, b) == 12, "");') == ["static assertion: b == 12"]


def test_an_error_that_must_not_be_reached_tells_the_opposite(depending: Depending) -> None:
    assert depending("BUILD_BUG_ON(offsetof(struct rec, b) > 16);") == ["static assertion: b <= 16"]


def test_the_size_may_be_what_is_asserted(depending: Depending) -> None:
    assert depending("BUILD_BUG_ON(sizeof(struct rec) > 64);") == ["static assertion: all <= 64"]


def test_each_of_several_conditions_is_told(depending: Depending) -> None:
    body = "BUILD_BUG_ON(offsetof(struct rec, b) != offsetof(struct rec, a) + 4 || offsetof(struct rec, c) % 8);"
    assert depending(body) == ["static assertion: a b == None", "static assertion: c"]


def test_widths_of_bit_fields_and_sizes_of_arrays_assert_too(depending: Depending) -> None:
    body = "BUILD_BUG_ON_ZERO(offsetof(struct rec, a) != 8); char t[offsetof(struct rec, b) == 12 ? 1 : -1];"
    assert depending(body) == ["static assertion: a == 8", "static assertion: b == 12"]


def test_a_limit_that_no_order_can_break_is_left_out(depending: Depending) -> None:
    assert depending("BUILD_BUG_ON(offsetof(struct rec, b) >= 4096);") == []


def test_offsets_inside_one_member_assert_nothing_of_the_record_around(depending: Depending) -> None:
    body = "BUILD_BUG_ON(offsetof(struct outer, r.a) > offsetof(struct outer, r.b));"
    assert depending(body, "rec", "outer") == ["static assertion: a b <= None"]


def test_assertions_outside_of_functions_count(depending: Depending) -> None:
    assert depending("", declarations='_Static_assert(16 == offsetof(struct rec, c), "");') == [
        "static assertion: c == 16"
    ]


# The first member


def test_casts_between_a_record_and_its_first_member(depending: Depending) -> None:
    body = "struct node *x = (struct node *)r; struct rec *y = (struct rec *)n;"
    assert depending(body) == ["cast between the record and its first member: n"] * 2


def test_casts_to_bytes_and_to_other_records_are_none(depending: Depending) -> None:
    assert depending("char *x = (char *)r; void *y = (void *)r; struct outer *z = (struct outer *)r;") == []


def test_a_record_freed_by_its_first_member(depending: Depending) -> None:
    assert (
        depending("free(&r->n); kmem_cache_free(n, &r->n); free(r);")
        == ["cast between the record and its first member: n"] * 2
    )


def test_container_of_with_offset_0_binds_where_null_is_asked_for(depending: Depending) -> None:
    body = "struct rec *q = container_of(n, struct rec, n); if (!q) return 1;"
    assert depending(body) == ["container_of on offset 0: n"]


def test_container_of_with_offset_0_is_free_where_it_is_not(depending: Depending) -> None:
    assert depending("container_of(n, struct rec, n)->a = 1;") == ["container_of on offset 0: n (free)"]


def test_container_of_behind_a_condition_is_free(depending: Depending) -> None:
    body = "struct rec *q = n ? container_of(n, struct rec, n) : 0; if (!q) return 1;"
    assert depending(body) == ["container_of on offset 0: n (free)"]


def test_functions_that_return_container_of_are_followed(depending: Depending) -> None:
    finder = "static struct rec *find(struct node *n) { return container_of(n, struct rec, n); }"
    body = "struct rec *q = find(n);\nreturn q == 0;"
    assert depending(body, declarations=finder) == [
        "container_of on offset 0: n (free)",
        "container_of on offset 0: n",
    ]


def test_container_of_of_other_members_is_no_dependency(depending: Depending) -> None:
    assert depending("struct rec *q = container_of(n, struct rec, m); if (!q) return 1;") == []


# Bytes


def test_clearing_more_than_the_member_named(depending: Depending) -> None:
    assert depending("memset(&r->a, 0, 8);") == ["copy or clear of a part: a b"]


def test_clearing_from_a_member_to_the_end(depending: Depending) -> None:
    assert depending("memset(&r->c, 0, sizeof(*r) - offsetof(struct rec, c));") == ["copy or clear of a part: c m d e"]


def test_clearing_up_to_a_member(depending: Depending) -> None:
    assert depending("memset(r, 0, offsetof(struct rec, b));") == ["copy or clear of a part: n a"]


def test_bytes_from_an_offset_on(depending: Depending) -> None:
    assert depending("memcpy((char *)r + offsetof(struct rec, c), n, 16);") == ["copy or clear of a part: c m"]


def test_a_member_or_the_record_as_a_whole_is_no_part(depending: Depending) -> None:
    assert depending("memset(&r->a, 0, 4); memset(r, 0, sizeof(*r)); memset(&o->r, 0, sizeof(o->r));") == []


def test_a_length_kept_by_a_macro_is_known(depending: Depending) -> None:
    checked = "#define CLEAR(p, n) ({ size_t __n = (n); __builtin_memset(p, 0, __n); })"
    assert depending("CLEAR(&r->a, 8);", declarations=checked) == ["copy or clear of a part: a b"]


def test_a_length_less_the_offset_reaches_the_end(depending: Depending) -> None:
    assert depending("memset(&r->m, 0, o->x - offsetof(struct rec, m));") == ["copy or clear of a part: m d e"]


def test_an_access_wider_than_the_member(depending: Depending) -> None:
    assert depending("*(long *)&r->a = 0; return READ_ONCE(r->a);") == ["copy or clear of a part: a b"]


def test_bytes_within_one_member_are_no_part(depending: Depending) -> None:
    assert depending("*(short *)(r->d + 4) = sizeof(*(long *)&r->a);") == []


def test_arithmetic_that_leaves_the_member(depending: Depending) -> None:
    assert depending("*(long *)(r->d + 4) = 0; *(int *)((char *)r + 12) = 0;") == [
        "copy or clear of a part: d e",
        "copy or clear of a part: b",
    ]


def test_an_array_at_the_end_may_be_longer_than_declared(scanned: Scanned) -> None:
    text = "void *memset(void *, int, unsigned long);\nstruct rec { int a; char s[1]; };\n"
    assert scanned(text + "void f(struct rec *r) { memset(r->s, 0, 100); }")["dependencies"] == []


# Others


def test_records_copied_to_user_space(depending: Depending) -> None:
    assert depending("copy_to_user(n, o, sizeof(*o));") == ["user space interface: all"]


def test_offsets_handed_to_assembly(depending: Depending) -> None:
    body = 'asm("#%0" :: "i"(offsetof(struct rec, b))); asm("#%0" :: "i"(sizeof(struct rec)));'
    assert depending(body) == ["offset for assembly: b (free)", "offset for assembly: all (free)"]


def test_members_that_bpf_programs_relocate(scanned: Scanned) -> None:
    text = "struct rec { int a, b; } __attribute__((preserve_access_index));\nint f(struct rec *r) { return r->b; }"
    found = scanned(text, flags=("--target=bpf", "-g"))["dependencies"]
    assert [_text(entry) for entry in found] == [
        "BPF program that relocates its accesses: b (free)",
        "BPF program that relocates its accesses: all (free)",
    ]


def test_a_randomised_layout(scanned: Scanned) -> None:
    text = "#define __randomize_layout\nstruct rec { int a, b; } __randomize_layout;"
    assert [_text(entry) for entry in scanned(text)["dependencies"]] == ["randomised layout: all (free)"]
