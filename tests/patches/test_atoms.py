# SPDX-License-Identifier: GPL-2.0-or-later
"""How the text of a record is read: where it is declared, how its lines are cut into atoms, what macros stand for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patch_cases import atoms_of
from text_cases import TextCase, declared, text_cases

from linesmith.patches.atoms import Atom, AtomKind
from linesmith.patches.grammar import body
from linesmith.patches.macros import plain
from linesmith.patches.masking import closing, without_comments, without_directives
from linesmith.patches.records import Record, is_packed, records_named

# Of the records below include/ of Debian's 6.1, this share at most may hold text the grammar does not know.
MOST_UNREADABLE = 0.0025
_RECORD = re.compile(rb"\b(struct|union)\b[\w\s]*\{")


def label(atom: Atom, regions: list[int]) -> str:
    """The names that an atom declares, those inside of it, what it is, and which region it is in."""
    words = [*atom.names, f"[{' '.join(atom.inner)}]" if atom.inner else ""]
    words.append("" if atom.kind is AtomKind.DECLARATION else f"({atom.kind.name.lower().replace('_', '-')})")
    if atom.names and regions.index(atom.region):
        words.append(f"region {regions.index(atom.region)}")
    return " ".join(filter(None, words)) or "-"


@text_cases(Path(__file__).with_name("cases") / "atoms.txt")
def test_lines_are_cut_into_atoms(case: TextCase) -> None:
    lines = [line.partition("|")[2] for line in case.lines]
    ending = b"\r\n" if case.words("lines") else b"\n"
    source = declared(lines).encode().replace(b"\n", ending)
    atoms = atoms_of(source)
    regions = list(dict.fromkeys(atom.region for atom in atoms if atom.names))
    found, at = [], 0
    for line in source.split(ending)[:-1]:
        atom = next((one for one in atoms if one.start <= at < one.end), None)
        found.append((label(atom, regions) if atom and atom.start == at else ":" if atom else "", line.decode()))
        at += len(line + ending)
    shown = found if lines[0] in found[0] else found[1:-1]
    assert shown == [(line.partition("|")[0].rstrip(), line.partition("|")[2]) for line in case.lines]


def test_a_part_that_holds_itself_ends() -> None:
    source = b"struct s {\n" + 40 * b"\tstruct s;\n" + b"\tint c;\n};\n"
    assert {one.inner for one in atoms_of(source)} == {("c",), ()}


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
    source = b"typedef union {\n int a;\n} other_t;\ntypedef struct {\n int a;\n} __packed s, *ps;\n"
    (record,) = records_named(source, "s")
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
        pytest.param(b"struct s {" * 50_000, id="nested"),
        pytest.param(b"struct " + b"_" * 50_000 + b" s", id="underscores"),
        pytest.param(b"struct s " + b"__a" * 20_000, id="attributes"),
        pytest.param(b"typedef struct {" * 2_000 + b"} t;" * 2_000, id="typedefs"),
        pytest.param(b"struct s { int " + b"(" * 5_000 + b"x" + b")" * 5_000 + b"; };", id="parentheses"),
        pytest.param(b"/*" * 50_000 + b" struct s { int a; };", id="comments"),
    ],
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


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        (b"int __rcu *a __aligned(8);", b"int *a ;"),
        (b"char a[] __counted_by(n);", b"char a[] ;"),
        (b"_Atomic(int) a;", b"int a;"),
        (b"unsigned int : 4;", b"unsigned int ;"),
        (b"u8 : 4;", b"u8 ;"),
        (b"int a : 4;", b"int a : 4;"),
        (b"u8:4; u8:4;", b"u8 ; u8 ;"),
        (b"DECLARE_BITMAP(map, N);", b"int map ;"),
        (b"DECLARE_FLEX_ARRAY(struct x, tail);", b"int tail ;"),
        (b"ZONE_PADDING(pad)", b"int pad;"),
        (b"KABI_RESERVE(1)", b"int ;"),
        (b"COMMON_HEADER\n", b"int ;"),
        (b"struct_group(g, int a; int b;);", b"struct { int a; int b;};"),
        (b"__struct_group(tag, g, __packed, int a;);", b"struct { int a;};"),
        (b"void (*call)(int (*)(void));", b"void (*call)(int (*)(void));"),
        (b"typeof(x) a;", b"typeof(x) a;"),
        (b"/* KABI_RESERVE(1) */ int a;", b"/* KABI_RESERVE(1) */ int a;"),
        (b"#if IS_ENABLED(A)\nint a;\n#endif", b"#if 1 int a; #endif"),
        (b"#if defined(A) ? 1 : B /* c */\nint a;\n#endif", b"#if 1 /* c */ int a; #endif"),
        (b"int a:1, /* one */\n#define c b\nb:1;", b"int a:1, /* one */ b:1;"),
        (b"#define A ((int) 1 /* one */ )\nint a;", b"int a;"),
        (b"GENRADIX(struct x) *a;", b"int *a;"),
        (b"DEFINE_STATISTICS(struct one, a);", b"int a ;"),
        (b"__DECLARE_MASK(a);", b"int a ;"),
        (b"SOME_PAIR(a, b);", b"int ;"),
        (b"__counted char *a;", b"char *a;"),
        (b"long (__efiapi *a)(u64, void *);", b"long ( *a)(u64, void *);"),
        (b"struct x a[N] __my_alignment;", b"struct x a[N] ;"),
        (b"int __must_check (*call)(void);", b"int (*call)(void);"),
    ],
)
def test_a_macro_becomes_plain_c(member: bytes, expected: bytes) -> None:
    text = plain(b"struct s {\n" + member + b"\n}")
    assert b" ".join(text.removeprefix(b"struct s {").removesuffix(b"}").split()) == expected


# fmt: off
PARTS = st.sampled_from([
    b"int a;", b"F(", b")", b"{", b"}", b"/*", b"*/", b'"', b"'", b"\n", b"#if X\n", b";", b"struct_group(", b",",
    b"_Atomic(", b"DECLARE_BITMAP(", b":3", b"\\\n", b"//", b"\xff", b"__attribute__((", b"PAD\n", b" : 4;", b"__rcu ",
])
# fmt: on


@settings(max_examples=50)
@given(st.lists(PARTS, max_size=30))
def test_no_text_changes_its_length_or_its_lines(parts: list[bytes]) -> None:
    source = b"struct s {" + b"".join(parts) + b"}"
    text = plain(source)
    assert len(text) == len(source)
    assert [at for at, byte in enumerate(text) if byte == 10] == [at for at, byte in enumerate(source) if byte == 10]


@pytest.mark.real
@pytest.mark.study
def test_the_records_of_a_kernel_are_readable(kernel_tree: Path) -> None:
    sound = [readable for path in sorted((kernel_tree / "include").rglob("*.h")) for readable in judged(path)]
    assert len(sound) > 15_000
    assert sound.count(False) / len(sound) <= MOST_UNREADABLE


def judged(path: Path) -> list[bool]:
    """For each outermost record of the file, whether the grammar takes its body whole."""
    source = path.read_bytes()
    code = without_directives(without_comments(source))
    found: list[bool] = []
    end = 0
    for match in _RECORD.finditer(code):
        last = closing(code, match.end() - 1) if match.start() >= end else None
        if last is not None:
            end = last
            found.append(body(source, Record("", match[1].decode(), match.start(), match.end() - 1, last, 1))[1])
    return found
