# SPDX-License-Identifier: GPL-2.0-or-later
"""Macros of record bodies as plain C of the same length, and how much of a real kernel that makes readable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linesmith.patches.grammar import body
from linesmith.patches.macros import plain
from linesmith.patches.masking import closing, without_comments, without_directives
from linesmith.patches.records import Record

# Of the records below include/ of Debian's 6.1, this share at most may hold text the grammar does not know.
MOST_UNREADABLE = 0.0025
_RECORD = re.compile(rb"\b(struct|union)\b[\w\s]*\{")


def spelt(member: bytes) -> bytes:
    """How the body ``{ member }`` reads as plain C, blanks squeezed."""
    text = plain(b"struct s {\n" + member + b"\n}")
    return b" ".join(text.removeprefix(b"struct s {").removesuffix(b"}").split())


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
    assert spelt(member) == expected


PARTS = st.sampled_from(
    [
        *(
            b"int a;",
            b"F(",
            b")",
            b"{",
            b"}",
            b"/*",
            b"*/",
            b'"',
            b"'",
            b"\n",
            b"#if X\n",
            b";",
            b"struct_group(",
            b",",
        ),
        *(
            b"_Atomic(",
            b"DECLARE_BITMAP(",
            b":3",
            b"\\\n",
            b"//",
            b"\xff",
            b"__attribute__((",
            b"PAD\n",
            b" : 4;",
            b"__rcu ",
        ),
    ]
)


@given(st.lists(PARTS, max_size=30))
def test_no_text_changes_its_length_or_its_lines(parts: list[bytes]) -> None:
    source = b"struct s {" + b"".join(parts) + b"}"
    text = plain(source)
    assert len(text) == len(source)
    assert [at for at, byte in enumerate(text) if byte == 10] == [at for at, byte in enumerate(source) if byte == 10]


@pytest.mark.real
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
