# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the bytes of a profile into text without what could steer a terminal, and names the files that are no text."""

from __future__ import annotations

import operator
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

from linesmith.analyzer.base.errors import ProfileError

# What perf itself makes of a perf.data file that is not read here.
SCRIPT = "`perf script -F +pid,+addr,+data_src,+weight`"
_UTF_16 = "is text in UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`"
_MAGICS = {
    b"PERFILE2": f"is a perf.data file; give the text of {SCRIPT}",
    b"2ELIFREP": f"is a perf.data file of a big-endian machine; give the text of {SCRIPT}",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x7fELF": "is an ELF file, not a profile; the ELF comes first, the profile second",
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"\xfd7zXZ": "is compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it first",
    b"BZh": "is compressed with bzip2; unpack it first",
    b"PK\x03\x04": "is a zip archive; unpack it first",
}
# What to give instead of a file that is no profile.
ADVICE = "give the perf.data itself, or the text of `perf c2c report --stdio`"
# Reports of whole machines have some megabytes.
MOST_BYTES = 256 << 20
_BLOCK_BYTES = 1 << 20


def read_text(path: Path, name: str) -> str:
    """The text of the file at ``path``, called ``name`` in messages; raises ``ProfileError`` if it is no text."""
    return decode(read_bytes(path, name), name)


def read_bytes(path: Path, name: str) -> bytes:
    """What is in the file at ``path``; raises ``ProfileError`` if it has more than 256 MiB, and ``OSError``."""
    with path.open("rb") as file:
        # A read of so many bytes at once would take all their memory first; a pipe may have no end.
        fits = os.fstat(file.fileno()).st_size <= MOST_BYTES
        blocks = iter(lambda: file.read(_BLOCK_BYTES), b"")
        data = b"".join(islice(blocks, MOST_BYTES // _BLOCK_BYTES + 1)) if fits else None
    if data is None or len(data) > MOST_BYTES:
        raise ProfileError(too_large(name))
    return data


def too_large(name: str) -> str:
    """The sentence about a file of more than 256 MiB."""
    return f"{name} is larger than {MOST_BYTES >> 20} MiB, too large for a report; {ADVICE}"


def refuse_known(head: bytes, name: str) -> None:
    """Raise ``ProfileError`` where a file that begins so is known to be no profile, with what it is instead."""
    for magic, words in _MAGICS.items():
        if head.startswith(magic):
            raise ProfileError(f"{name} {words}")


def head_text(head: bytes) -> str:
    """The text of a part of a file, which may begin and end within a character; nothing where it is no text."""
    return "" if head.startswith(tuple(_MAGICS)) or _is_binary(head) else head.decode("utf-8", "replace")


def decode(data: bytes, name: str) -> str:
    """The text of ``data``, UTF-8; bytes that are not become replacement characters.

    Raises ``ProfileError`` for data that is no text, with what it is instead.
    """
    refuse_known(data, name)
    if _is_binary(data):
        raise ProfileError(f"{name} is binary data, not text; {ADVICE}")
    return data.decode("utf-8", "replace")


def _is_binary(data: bytes) -> bool:
    return data.count(b"\0") * 100 > len(data)


# Controls (C0, C1, DEL), line and paragraph separators, what turns the direction of writing (UAX 9), invisible
# characters and tags, halves of surrogate pairs.
UNPRINTABLE = (
    "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_UNPRINTABLE = re.compile(f"[{UNPRINTABLE}]")
# How a dataclass declares what holds no string, and a string of its own.
_NUMBERS, _TEXTS = frozenset(("int", "float", "bool", "None")), frozenset(("str", "None"))
T = TypeVar("T")


def printable(text: str) -> str:
    """``text`` with a replacement character for each that does more than to be shown."""
    return text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub("\ufffd", text)


def printable_profile(profile: T) -> T:
    """A profile (or any part of one) with every string printable; parts that need no change stay the same objects."""
    changes = {text: shown for text in set(_texts_in([profile])) if (shown := printable(text)) != text}
    return cast(T, _changed(profile, changes)) if changes else profile


def _texts_in(values: Iterable[Any]) -> Iterator[str]:
    """Every string in the values; of many records column by column, each distinct string of a column once."""
    by_kind: defaultdict[type, list[Any]] = defaultdict(list)
    for value in values:
        by_kind[type(value)].append(value)
    for kind, some in by_kind.items():
        if kind is str:
            yield from some
        elif kind is tuple:
            yield from _texts_in(chain.from_iterable(some))
        for name, is_text in _telling(kind):
            column = map(attrgetter(name), some)
            yield from _texts_in(set(column) if is_text else filter(None, column))


def _changed(value: object, changes: Mapping[str, str]) -> object:
    if type(value) is str:
        return changes.get(value, value)
    if isinstance(value, tuple):
        parts = tuple(_changed(one, changes) for one in value)
        return value if all(map(operator.is_, parts, value)) else parts
    kind: type = type(value)
    held = {name: getattr(value, name) for name, _ in _telling(kind)}
    changed = {name: new for name, old in held.items() if (new := _changed(old, changes)) is not old}
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


@cache
def _telling(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a dataclass that may hold strings, and whether each is one itself; none of any other type."""
    if not is_dataclass(kind):
        return ()
    declared = ((one.name, set(str(one.type).split(" | "))) for one in fields(kind))
    return tuple((name, types <= _TEXTS) for name, types in declared if not types <= _NUMBERS)
