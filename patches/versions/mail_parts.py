# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a mail as they were before they were sent, and which of them are patches."""

from __future__ import annotations

import binascii
import quopri
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import Message
from itertools import islice

_HEADER_BYTES = 1 << 16
# Nobody sends mails with more of them.
_MOST_LEVELS = 8
_MOST_PARTS = 1000
_DIFF = re.compile(rb"^(?:diff --git \S+ \S+$|--- \S[^\n]*\n\+\+\+ \S)", re.MULTILINE)
_BLANK = re.compile(rb"(?:\A|\n)\r?\n")
# Longer values take long to parse, and nobody writes them.
_SAID = re.compile(
    rb"^(Content-(?:Type|Disposition|Transfer-Encoding)):((?:[^\n]|\n[ \t]){1,1000})$", re.MULTILINE | re.IGNORECASE
)
_CLOSING = re.compile(rb"^--([^\n]{1,200}?)--[ \t\r]*$", re.MULTILINE)
_NO_TEXT = ("text/html", "text/rtf", "text/calendar")


class Damaged(ValueError):
    """What was encoded cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Part:
    """A mail, or one part of it: what its header says, and the bytes behind that as they were sent."""

    said: Message
    body: bytes

    @property
    def boundary(self) -> bytes | None:
        """What stands between the parts in it; ``None`` where it has none."""
        if self.said.get_content_maintype() != "multipart":
            return None
        found = _parameter(self.said.get_boundary)
        return found.encode("latin-1", "replace") if found else None

    @property
    def is_attached(self) -> bool:
        """Whether it is a file, or another mail, and no text that a reader is shown."""
        is_file = self.said.get_content_disposition() == "attachment" or _parameter(self.said.get_filename) is not None
        return is_file or self.is_mail

    @property
    def is_mail(self) -> bool:
        """Whether it is another mail."""
        return self.said.get_content_type() == "message/rfc822"

    def content(self) -> bytes:
        """The bytes as they were before they were encoded; raises ``Damaged``."""
        encoding = str(self.said.get("Content-Transfer-Encoding", "")).strip().lower()
        try:
            if encoding == "base64":
                return with_own_line_ends(binascii.a2b_base64(self.body))
        except binascii.Error as error:
            raise Damaged(str(error)) from None
        return with_own_line_ends(quopri.decodestring(self.body)) if encoding == "quoted-printable" else self.body


def _parameter(asked: Callable[[], str | None]) -> str | None:
    """What a header says; nothing where it names an encoding in which it cannot be read (RFC 2231)."""
    try:
        return asked()
    except ValueError:
        return None


def part_of(text: bytes) -> Part:
    """What a mail or a part of one begins with, and what follows; a text without a header has none."""
    blank = _BLANK.search(text)
    head = text[: blank.start()][:_HEADER_BYTES] if blank else b""
    said = Message()
    for name, value in _SAID.findall(head):
        # What is no ASCII means itself in a header, and no byte is lost.
        said[name.decode()] = b" ".join(value.split()).decode("latin-1")
    return Part(said, text[blank.end() :] if blank else text)


def with_own_line_ends(text: bytes) -> bytes:
    """Where every line ends as lines of mail do, that says nothing of the lines in the tree."""
    ends = text.count(b"\n")
    return text.replace(b"\r\n", b"\n") if ends and text.count(b"\r\n") == ends else text


def ends_of_parts(text: bytes) -> dict[bytes, list[int]]:
    """Where mails of several parts may say that these end, by the boundary that each names."""
    found: dict[bytes, list[int]] = {}
    for line in _CLOSING.finditer(text):
        found.setdefault(line[1], []).append(line.end())
    return found


def patches_in(mail: Part, levels: int = _MOST_LEVELS) -> tuple[bytes, ...]:
    """The patches that are attached to a mail of several parts, or, where none is, those that its text has.

    Raises ``Damaged``.
    """
    parts = list(islice(_leaves(mail, levels), _MOST_PARTS + 1))
    if len(parts) > _MOST_PARTS:
        raise Damaged(f"it has more than {_MOST_PARTS} parts")
    leaves = [leaf for leaf in parts if leaf.said.get_content_type() not in _NO_TEXT]
    attached = [one for leaf in leaves if leaf.is_attached for one in _patches(leaf, levels)]
    return tuple(attached or (one for leaf in leaves if not leaf.is_attached for one in _patches(leaf, levels)))


def _leaves(part: Part, levels: int) -> Iterator[Part]:
    """The parts that have no parts themselves, in their order; raises ``Damaged``."""
    if part.boundary is None:
        yield part
        return
    if not levels:
        raise Damaged(f"its parts lie more than {_MOST_LEVELS} deep in each other")
    for text in _between(part.body, part.boundary):
        yield from _leaves(part_of(text), levels - 1)


def _between(body: bytes, boundary: bytes) -> Iterator[bytes]:
    start = None
    for line in re.finditer(rb"^--%b(--)?[ \t\r]*(?:\n|\Z)" % re.escape(boundary), body, re.MULTILINE):
        if start is not None:
            yield body[start : line.start()]
        start = line.end()
        if line[1]:
            return
    if start is not None:
        yield body[start:]


def _patches(leaf: Part, levels: int) -> tuple[bytes, ...]:
    content = leaf.content()
    if leaf.is_mail and levels:
        inner = part_of(content)
        if inner.boundary is not None:
            return patches_in(inner, levels - 1)
        content = content[: len(content) - len(inner.body)] + inner.content()
    return (content,) if _DIFF.search(content) else ()
