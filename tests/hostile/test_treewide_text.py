# SPDX-License-Identifier: GPL-2.0-or-later
"""No text of a tree stalls what ``encapsulate`` and ``inline`` read themselves: the time grows with the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from stalling_readers import cpu_seconds

from linesmith.patches.declaration import Declared
from linesmith.patches.encapsulation.aliases import aliases
from linesmith.patches.encapsulation.calls import in_style, plain_calls, spaced
from linesmith.patches.encapsulation.context import is_access, is_designator, is_offset
from linesmith.patches.encapsulation.member import DeclaredMember, Shape
from linesmith.patches.encapsulation.predicates import predicates
from linesmith.patches.inline.aftermath import aftermath
from linesmith.patches.inline.find import Found
from linesmith.patches.inline.pointer import PointerMember
from linesmith.patches.records import records_named
from linesmith.patches.semantic.mentions import mentioned

SMALL = b"struct queue {\n\tint a;\n\tstruct b *b;\n};\n"
RECORD = records_named(SMALL, "queue")[0]
POINTER = PointerMember(Declared("s.h", SMALL, RECORD, 1.0), "b", "struct b", 23, 35, ("struct queue",), ("struct b",))
LENGTH = 1 << 18
LIMIT = 20


def _mentions(text: bytes, _: Path) -> None:
    for one in mentioned("a.c", text, "queue"):
        is_access(text, one)
        is_offset(text, one)
        is_designator(text, one)


def _aliases(text: bytes, folder: Path) -> None:
    (folder / "a.h").write_bytes(text)
    aliases(folder, RECORD)


def _predicates(text: bytes, _: Path) -> None:
    predicates(DeclaredMember("s.h", SMALL + text, RECORD, "a", 2, Shape.PLAIN, "int", len(SMALL)))


def _calls(text: bytes, _: Path) -> None:
    plain_calls(text, "queue")
    spaced(text)
    in_style(text, "queue", blank=True)


def _comments(text: bytes, _: Path) -> None:
    aftermath(POINTER, Found((), typed=False, sites=(), standing=()), {"a.c": text}, {"a.c": text})


STALLING: Mapping[Callable[[bytes, Path], None], tuple[bytes, ...]] = {
    _mentions: (b"queue\n", b"queue ", b"#define a queue->b\n", b"queue(\n", b"#define A queue \\\n"),
    _aliases: (
        b"typedef struct queue {",
        b"typedef struct queue ",
        b"typedef struct queue {}",
        b"typedef struct queue\n",
    ),
    _predicates: (
        b"static inline int ",
        b"static inline bool f(struct queue *q) {",
        b"static inline int f(struct queue * ",
    ),
    _calls: (b"queue((", b"queue(&(", b"queue((x))", b"queue ("),
    _comments: (b"/*", b"/* q->b */\n", b"/* q->b ", b"// q->b\n"),
}


def _cases() -> Iterator[object]:
    for reader, shapes in STALLING.items():
        yield from (pytest.param(reader, shape, id=f"{reader.__name__.strip('_')} {shape!r}") for shape in shapes)


@pytest.mark.parametrize(("reader", "shape"), list(_cases()))
def test_a_text_that_repeats_itself_stalls_no_reader_of_a_whole_tree(
    reader: Callable[[bytes, Path], None], shape: bytes
) -> None:
    short, long = (cpu_seconds(reader, shape * (length // len(shape)), LIMIT) for length in (LENGTH // 4, LENGTH))
    assert short is not None
    assert long is not None
    assert long < 12 * max(short, 0.1)
