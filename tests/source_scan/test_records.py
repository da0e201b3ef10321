# SPDX-License-Identifier: GPL-2.0-or-later
"""Where records and the atoms of their members stand: one oddity of a declaration per test."""

from __future__ import annotations

from typing import Any

from source_scan.conftest import Scanned

Record = dict[str, Any]


def _record(scanned: Scanned, text: str, name: str = "rec") -> Record:
    (record,) = scanned(text, name)["records"]
    assert isinstance(record, dict)
    return record


def _atoms(scanned: Scanned, text: str, name: str = "rec") -> dict[str, str]:
    """The text of each atom by its member, anonymous ones by their place."""
    members = _record(scanned, text, name)["members"]
    return {m["name"] or f"#{number}": text[m["start"] : m["end"]] for number, m in enumerate(members)}


def _declarations(scanned: Scanned, text: str) -> dict[str, str]:
    members = _record(scanned, text)["members"]
    return {m["name"]: text[slice(*m["declaration"])] for m in members if m["name"]}


def test_an_atom_is_a_line(scanned: Scanned) -> None:
    assert _atoms(scanned, "struct rec {\n\tint a;\n\tlong b;\n};\n") == {"a": "\tint a;\n", "b": "\tlong b;\n"}


def test_comments_above_and_beside_belong_to_it(scanned: Scanned) -> None:
    text = """\
struct rec {
	/* section */

	/* about a */
	// more
	int a;	/* beside */
		/* goes on */
	int b;
			/* about b */
	/* about c */
	int c;
};
"""
    assert _atoms(scanned, text) == {
        "a": "\t/* about a */\n\t// more\n\tint a;\t/* beside */\n\t\t/* goes on */\n",
        "b": "\tint b;\n\t\t\t/* about b */\n",
        "c": "\t/* about c */\n\tint c;\n",
    }


def test_members_of_one_line_have_their_own_bytes(scanned: Scanned) -> None:
    assert _atoms(scanned, "struct rec { int a; int b; };\n") == {"a": "int a;", "b": "int b;"}


def test_names_of_one_declaration_know_each_other(scanned: Scanned) -> None:
    record = _record(scanned, "struct rec {\n\tint a, *b,\n\t    c[2];\n\tint d;\n};\n")
    assert [(m["name"], m["others"]) for m in record["members"]] == [
        ("a", ["b", "c"]),
        ("b", ["a", "c"]),
        ("c", ["a", "b"]),
        ("d", []),
    ]


def test_attributes_belong_to_the_declaration(scanned: Scanned) -> None:
    text = """\
#define __aligned(n) __attribute__((aligned(n)))
struct rec {
	__aligned(8) int a;
	int b __aligned(16), c;
	__attribute__((unused)) void (*d)(int x,
					int y) __aligned(8);
};
"""
    assert _declarations(scanned, text) == {
        "a": "__aligned(8) int a;",
        "b": "int b __aligned(16), c;",
        "c": "int b __aligned(16), c;",
        "d": "__attribute__((unused)) void (*d)(int x,\n\t\t\t\t\tint y) __aligned(8);",
    }


def test_members_of_a_macro_name_it(scanned: Scanned) -> None:
    text = """\
#define DECLARE_BITMAP(name, bits) unsigned long name[(bits) / 64]
#define PAIR(x) int x##_first; int x##_second;
struct rec {
	DECLARE_BITMAP(map, 128);	/* beside */
	PAIR(p)
	int z;
};
"""
    record = _record(scanned, text)
    assert [(m["name"], m["macro"], m["others"], text[m["start"] : m["end"]]) for m in record["members"]] == [
        ("map", "DECLARE_BITMAP", [], "\tDECLARE_BITMAP(map, 128);\t/* beside */\n"),
        ("p_first", "PAIR", ["p_second"], "\tPAIR(p)\n"),
        ("p_second", "PAIR", ["p_first"], "\tPAIR(p)\n"),
        ("z", "", [], "\tint z;\n"),
    ]


def test_members_handed_to_a_group_macro(scanned: Scanned) -> None:
    text = """\
#define struct_group(NAME, MEMBERS...) union { struct { MEMBERS }; struct { MEMBERS } NAME; }
struct rec {
	int before;
	struct_group(both,
		int a;
		int b;
	);
	int behind;
};
"""
    record = _record(scanned, text)
    outer = [m for m in record["members"] if m["inside"] < 0]
    assert [text[slice(*m["declaration"])].split("(")[0] for m in outer] == [
        "int before;",
        "struct_group",
        "int behind;",
    ]
    assert {m["name"] for m in record["members"]} >= {"before", "a", "b", "both", "behind"}
    assert [m["offset_bits"] for m in record["members"] if m["name"] in ("a", "b", "behind")] == [32, 64, 96]


def test_anonymous_records_hold_their_members(scanned: Scanned) -> None:
    text = "struct rec {\n\tunion {\n\t\tint a;\n\t\tstruct { char b, c; };\n\t};\n\tstruct { int x; } named;\n};\n"
    record = _record(scanned, text)
    assert [(m["name"], m["inside"]) for m in record["members"]] == [
        ("", -1),
        ("a", 0),
        ("", 0),
        ("b", 2),
        ("c", 2),
        ("named", -1),
    ]
    assert _atoms(scanned, text)["#0"] == "\tunion {\n\t\tint a;\n\t\tstruct { char b, c; };\n\t};\n"
    assert _atoms(scanned, text)["named"] == "\tstruct { int x; } named;\n"


def test_bit_fields_and_offsets_are_in_bits(scanned: Scanned) -> None:
    record = _record(scanned, "struct rec { int a : 3, : 0, b : 5; long c; };")
    assert [(m["name"], m["offset_bits"], m["bits"]) for m in record["members"]] == [
        ("a", 0, 3),
        ("", 32, 0),
        ("b", 32, 5),
        ("c", 64, 64),
    ]
    assert record["bytes"] == 16


def test_conditionals_are_told_and_their_other_arm_has_no_members(scanned: Scanned) -> None:
    text = "struct rec {\n\tint a;\n#ifdef X\n\tint b;\n# if Y\n# endif\n#else\n\tint c;\n#endif\n};\n"
    record = _record(scanned, text)
    assert [m["name"] for m in record["members"]] == ["a", "c"]
    assert [text[slice(*where)].count("\n") for where in record["conditionals"]] == [6, 1]


def test_the_record_from_its_first_word_to_its_semicolon(scanned: Scanned) -> None:
    text = "int i;\nstatic struct rec {\n\tint a;\n} __attribute__((packed, aligned(4))) one, *two;\nint j;\n"
    record = _record(scanned, text)
    assert text[record["start"] : record["end"]] == text[14:-8]
    assert text[slice(*record["body"])] == "{\n\tint a;\n}"
    assert (record["packed"], record["line"], record["kind"]) == (True, 2, "struct")


def test_a_typedef_names_a_record_without_tag(scanned: Scanned) -> None:
    text = "typedef union {\n\tint a;\n} rec;\n"
    record = _record(scanned, text)
    assert (text[record["start"] : record["end"]], record["kind"]) == (text[:-1], "union")


def test_lines_of_kernel_doc_by_member(scanned: Scanned) -> None:
    text = """\
/**
 * struct rec - a record
 * @a: the first
 * @b: the second,
 *	which goes on
 *
 * About both.
 */
struct rec {
	int a, b;
};
"""
    record = _record(scanned, text)
    assert text[slice(*record["comment"])] == text[: text.index("struct rec {") - 1]
    docs = {m["name"]: [text[slice(*lines)] for lines in m["docs"]] for m in record["members"]}
    assert docs == {"a": [" * @a: the first\n"], "b": [" * @b: the second,\n *\twhich goes on\n"]}


def test_randomised_ranges(scanned: Scanned) -> None:
    text = """\
#define randomized_struct_fields_start struct {
#define randomized_struct_fields_end };
struct rec {
	int fixed;
	randomized_struct_fields_start
	int a;
	randomized_struct_fields_end
};
"""
    record = _record(scanned, text)
    assert record["randomized"]
    assert [(m["name"], m["inside"]) for m in record["members"]] == [("fixed", -1), ("", -1), ("a", 1)]
    assert _atoms(scanned, text)["a"] == "\tint a;\n"
