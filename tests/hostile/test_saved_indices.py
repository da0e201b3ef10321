# SPDX-License-Identifier: GPL-2.0-or-later
"""Saved indices whose checksums are right and whose records no build gave: what they say is checked first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

import msgspec
import pytest
from c_source import compiled
from hostile.limited import limited
from linesmith_command import linesmith

from linesmith.analyzer.layouts.store import IndexedLayouts, SavedIndex, content, parsed

MANY = 30_000


def record(number: int, *members: str, size: int = 8, kind: str = "struct") -> bytes:
    """The document of ``rNUMBER``."""
    text = f'{{"id":{number},"name":"r{number}","kind":"{kind}","size":{size},"members":[{",".join(members)}]}}'
    return text.encode()


def member(offset: int = 0, size: int = 8, held: int | None = None, more: str = "") -> str:
    """A member of the record with the id ``held``, or a scalar; ``more`` are further fields."""
    record_held = "" if held is None else f',"record":{held},"category":"record"'
    return f'{{"name":"m","type":"t","declarator":"m","offset":{offset},"size":{size}{record_held}{more}}}'


def forged(file: Path, documents: Iterable[bytes]) -> Path:
    """The saved index of a real file with the records ``r0``, ``r1`` ... in place of its own."""
    linesmith("index", compiled(file.parent, "int one;"), "-o", file, cache=file.parent / "cache")
    whole, parts = file.read_bytes(), list(documents)
    head, _, rest = whole[whole.index(b"{") :].partition(b"\n")
    layouts = parsed(rest)
    assert layouts is not None
    body, names = b"".join(parts), {f"r{number}": (number,) for number in range(len(parts))}
    told = {"ends": tuple(accumulate(map(len, parts))), "names": names, "digests": bytes(8 * len(parts))}
    forged = IndexedLayouts(msgspec.structs.replace(layouts.head, body_crc=zlib.crc32(body), **told), body)
    file.write_bytes(content(msgspec.json.decode(head, type=SavedIndex), forged))
    return file


def refused(file: Path, *arguments: str) -> str:
    """What is wrong with the index."""
    done = limited("layout", file, *arguments, cache=file.parent / "cache")
    assert (done.returncode, done.stdout) == (2, "")
    before, _, behind = done.stderr.partition(" is a damaged index: ")
    assert before == f"linesmith: {file}"
    return behind.removesuffix("; write it again with `linesmith index -o`\n")


ITSELF, BEHIND = "a record holds itself by value", "member 0 of record 0 ends behind the record"
OPEN = member(offset=8, size=0, more=',"dimensions":[0],"flexible":true')


@pytest.mark.parametrize(
    ("documents", "words", "wrong"),
    [
        ([record(0, member()), record(1, member(held=0))], "r1 --expand", ""),
        ([record(0, member(more=',"bit_offset":8,"bit_size":9'), size=3)], "", ""),  # the unit of a packed bit-field
        ([record(0, member(), OPEN)], "", ""),  # an open array ends where its record does
        ([record(0, member(held=0))], "r0 --expand", ITSELF),
        ([record(0, member(held=0))], "r0 --format json", ITSELF),
        ([record(0, member(held=1)), record(1, member(held=2)), record(2, member(held=0))], "r0 --expand", ITSELF),
        ([record(0, member(held=1))], "", "record 0 has a member whose type does not exist"),
        ([record(0, member(offset=4))], "", BEHIND),
        ([record(0, member(more=',"bit_offset":60,"bit_size":5'))], "", BEHIND),
    ],
)
def test_a_saved_index_that_says_what_cannot_be_is_refused(
    tmp_path: Path, documents: list[bytes], words: str, wrong: str
) -> None:
    file = forged(tmp_path / "file", documents)
    if wrong:
        assert refused(file, *words.split()) == wrong
    else:
        assert linesmith("layout", file, *words.split(), cache=tmp_path / "cache").returncode == 0


def test_many_records_one_in_the_other_are_checked_in_linear_time(tmp_path: Path) -> None:
    nested = (record(number, member(held=number - 1)) for number in range(1, MANY))
    file = forged(tmp_path / "file", [record(0, member()), *nested])
    assert limited("layout", file, f"r{MANY - 1}", "--expand", cache=tmp_path / "cache").returncode == 0


def test_many_records_in_a_ring_are_refused_in_linear_time(tmp_path: Path) -> None:
    ring = (record(number, member(held=(number + 1) % MANY)) for number in range(MANY))
    assert refused(forged(tmp_path / "file", ring), "r0") == "a record holds itself by value"
