# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a file declares a record, whatever stands around it."""

from __future__ import annotations

import pytest

from linesmith.patches.records import is_packed, records_named


@pytest.mark.parametrize(
    "source",
    [
        b"struct s {\n int a;\n};\n",
        b"struct s\n{\n int a;\n};\n",
        b"struct __packed s { int a; };\n",
        b"struct __attribute__((packed, aligned(4))) s { int a; };\n",
        b"struct s __packed { int a; };\n",
        b"static struct s { int a; } one;\n",
        b"#if 0\n}\n#endif\nint f(void) { if (1) {} }\nstruct s { int a; };\n",
        b"struct outer { struct s { int a; } inner; };\n",
    ],
)
def test_a_tag_is_found(source: bytes) -> None:
    (record,) = records_named(source, "s")
    assert (record.kind, record.title) == ("struct", "struct s")
    assert source[record.opening :].startswith(b"{")
    assert source[record.closing :].startswith(b"}")


def test_a_typedef_of_an_anonymous_record_is_found_by_its_name() -> None:
    (record,) = records_named(
        b"typedef union {\n int a;\n} other_t;\ntypedef struct {\n int a;\n} __packed s, *ps;\n", "s"
    )
    assert (record.kind, record.title, record.line) == ("struct", "s", 4)


@pytest.mark.parametrize(
    "source",
    [
        b"struct s;\n",
        b"struct s *f(struct s *x) { return x; }\n",
        b"enum s { A, B };\n",
        b"/* struct s { int a; }; */\n",
        b'char *t = "struct s { int a; }";\n',
        b"#define M struct s { int a; }\n",
        b"struct ss { int a; };\nstruct s_s { int a; };\n",
        b"struct s { int a;\n",
        b"struct s x = { .a = 1 };\n",
        b"",
    ],
)
def test_what_declares_no_such_record(source: bytes) -> None:
    assert records_named(source, "s") == ()


def test_every_declaration_of_a_file_is_given() -> None:
    source = b"#ifdef A\nstruct s {\n int a;\n};\n#else\nstruct s {\n long a;\n};\n#endif\n"
    assert [record.line for record in records_named(source, "s")] == [2, 6]


@pytest.mark.parametrize(
    "source",
    [
        b"struct s {" * 50_000,
        b"struct " + b"_" * 50_000 + b" s",
        b"struct s " + b"__a" * 20_000,
        b"typedef struct {" * 2_000 + b"} t;" * 2_000,
        b"struct s { int " + b"(" * 5_000 + b"x" + b")" * 5_000 + b"; };",
        b"/*" * 50_000 + b" struct s { int a; };",
    ],
    ids=["nested", "underscores", "attributes", "typedefs", "parentheses", "comments"],
)
def test_text_made_to_exhaust_a_parser_declares_nothing(source: bytes) -> None:
    assert records_named(source, "s") == ()


@pytest.mark.parametrize(
    ("source", "packed"),
    [
        (b"struct s { int a; } __packed;", True),
        (b"struct __attribute__((packed, aligned(4))) s { int a; };", True),
        (b"#pragma pack(1)\nstruct s { int a; };\n#pragma pack()", True),
        (b"#pragma pack(push, 1)\nstruct t { int b; };\n#pragma pack(pop)\nstruct s { int a; };", False),
        (b"struct s { struct { int a; } __packed b; } __aligned(8);", False),
        (b"struct s { int a; }; /* not packed */\n", False),
    ],
)
def test_a_packed_record_says_so(source: bytes, packed: bool) -> None:
    (record,) = records_named(source, "s")
    assert is_packed(source, record) is packed
