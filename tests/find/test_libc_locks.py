# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks of the C library in user-space programs: their code is not in the ELF file, their inside is nobody else's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from linesmith_command import linesmith

# The search reads offset 0x18 of a span as well, so its operands alone leave two starts for the book.
PROGRAM = """\
#include <pthread.h>

struct link { struct link *next, *right, *left; };
struct span { struct link link; unsigned long start; };
struct book { struct link *root; pthread_rwlock_t lock; };

struct span *book_search(struct book *book, unsigned long key)
{
	struct link *at;

	pthread_rwlock_rdlock(&book->lock);
	for (at = book->root; at && ((struct span *)at)->start != key; at = at->left)
		;
	pthread_rwlock_unlock(&book->lock);
	return (struct span *)at;
}
"""


def row(offset: int, contended: float, stores: float, symbol: str, thing: str = "program") -> str:
    shares = f"0.00%  {contended:.2f}%  {stores:.2f}%  0.00%  0.00%"
    return f"    {shares}  {offset:#x}  0  1  0x4011{offset:02x}  90  80  70  100  4  [.] {symbol}  {thing}  a.c:5  0\n"


def report(*rows: str) -> str:
    rule = "  " + "-" * 70 + "\n"
    return f"{rule}     0       0      900     600       0       0      0x7f2240\n{rule}" + "".join(rows)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O2", "-c", "program.c"], cwd=tmp_path, check=True)
    return tmp_path / "program.o"


def hot(program: Path, *rows: str) -> str:
    text = program.with_name("report.txt")
    text.write_text(report(*rows))
    return linesmith("hot", program, text, cache=program.parent / "cache").stdout


def test_what_a_program_touches_itself_is_not_inside_a_lock_of_the_library(program: Path) -> None:
    shown = hot(
        program,
        row(0x18, 20, 0, "book_search"),
        row(0x20, 50, 100, "__pthread_rwlock_rdlock", "libc.so.6"),
        row(0x3C, 30, 0, "__pthread_rwlock_rdlock", "libc.so.6"),
    )

    assert "object   book, begins 24 bytes into the line (phase 24 of 64)\n  resolved:" in shown
    assert "false sharing of root with lock" in shown


def test_words_of_a_lock_have_the_names_the_library_gives_them(program: Path) -> None:
    shown = hot(program, row(0x18, 20, 0, "book_search"), row(0x20, 80, 100, "__pthread_rwlock_rdlock", "libc.so.6"))

    assert "lock.__data.__readers" in shown


def test_a_name_inside_the_library_is_the_function_it_stands_for(program: Path) -> None:
    shown = hot(
        program, row(0x18, 20, 0, "book_search"), row(0x20, 80, 100, "__GI___pthread_rwlock_rdlock", "libc.so.6")
    )

    assert "resolved: 100% of the samples explained" in shown
