# SPDX-License-Identifier: GPL-2.0-or-later
"""What the program says of one unit: a JSON line."""

from __future__ import annotations

import msgspec

from linesmith.analyzer.errors import ScanFailed
from linesmith.analyzer.model import DependencyKind, UseKind


class MemberPart(msgspec.Struct, frozen=True):
    """A member, its atom's bytes from ``start`` to ``end``.

    ``file`` is empty where it is the record's; ``inside`` is the member that holds it, -1 for none.
    """

    name: str
    line: int
    start: int
    end: int
    file: str = ""
    inside: int = -1
    macro: str = ""
    others: tuple[str, ...] = ()


class RecordPart(msgspec.Struct, frozen=True):
    """A declaration of a record, bytes ``start`` to ``end`` of ``file``."""

    record: str
    file: str
    line: int
    start: int
    end: int
    members: tuple[MemberPart, ...] = ()


class DependencyPart(msgspec.Struct, frozen=True):
    """A place that relies on the order; without ``binds`` the compiler works it out again for another order."""

    kind: DependencyKind
    record: str
    members: tuple[str, ...]
    file: str
    line: int
    text: str = ""
    function: str = ""
    bytes: int | None = None
    relation: str = ""
    binds: bool = True


class UsePart(msgspec.Struct, frozen=True):
    """An expression that reaches a member."""

    record: str
    member: str
    kind: UseKind
    file: str
    line: int
    function: str = ""


class Answer(msgspec.Struct, frozen=True):
    """All of one unit, its parts as they were written.

    ``complaint`` is the first of the ``errors``, ``fatal`` tells that the parser gave up; ``includes`` are all files
    that were read, empty where the program said nothing.
    """

    unit: str
    errors: int = 0
    complaint: str = ""
    fatal: bool = False
    records: tuple[msgspec.Raw, ...] = ()
    dependencies: tuple[msgspec.Raw, ...] = ()
    uses: tuple[msgspec.Raw, ...] = ()
    includes: tuple[str, ...] = ()


class _Named(msgspec.Struct, frozen=True):
    record: str


_ANSWER = msgspec.json.Decoder(Answer)
_NAMED = msgspec.json.Decoder(_Named)


def answer(line: bytes) -> Answer:
    """The answer in a line; raises ``ScanFailed`` for what is none."""
    try:
        return _ANSWER.decode(line)
    except msgspec.MsgspecError as error:
        raise ScanFailed(f"the program that parses sources answered what cannot be read ({error})") from error


def record_of(part: bytes) -> str:
    """The record that a part is of; raises ``msgspec.MsgspecError`` for what is none."""
    return _NAMED.decode(part).record
