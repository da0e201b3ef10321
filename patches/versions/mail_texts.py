# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches in a file, of one mail or of a whole mailbox, as they were before they went through the mail."""

from __future__ import annotations

import binascii
import quopri
import re
from dataclasses import dataclass

from linesmith.analyzer.errors import PatchRefused

_MAIL = re.compile(rb"^From \S+ +\w{3} \w{3} +\d{1,2} [\d:]{8} \d{4}$", re.MULTILINE)
_ENCODED = re.compile(rb"^Content-Transfer-Encoding:[ \t]*(base64|quoted-printable)", re.MULTILINE | re.IGNORECASE)
_PART = re.compile(rb"^Subject:(?:[^\n]|\n[ \t])*?\[[^\]\n]{0,80}?(\d{1,4})/(\d{1,4})\]", re.MULTILINE | re.IGNORECASE)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_HEADER_BYTES = 1 << 16
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Mail:
    """A patch, and what a reader knows it by."""

    name: str
    text: bytes

    @property
    def part(self) -> tuple[int, int] | None:
        """Which it is of how many, as its subject says; a cover letter is number 0."""
        found = _PART.search(self.text[:_HEADER_BYTES].partition(b"\n\n")[0])
        return (int(found[1]), int(found[2])) if found else None


def mails_of(name: str, content: bytes) -> tuple[Mail, ...]:
    """The patches of a file, one for each mail in it; raises ``PatchRefused`` for what cannot be read as it is."""
    if len(content) > _MOST_BYTES:
        raise PatchRefused(f"{name} is larger than {_MOST_BYTES >> 20} MiB; give the patch alone")
    if content.startswith(_COMPRESSED):
        raise PatchRefused(f"{name} is compressed; give what is in it, - is standard input")
    if content.startswith(_WIDE):
        raise PatchRefused(f"{name} is UTF-16, as some shells redirect; let `git format-patch -o DIR` write the file")
    text = _with_own_line_ends(content)
    starts = [match.start() for match in _MAIL.finditer(text)] or [0]
    texts = [text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    names = [name] if len(texts) == 1 else [f"{name}[{number}]" for number in range(1, len(texts) + 1)]
    return tuple(Mail(*each) for each in zip(names, map(_decoded, names, texts), strict=True))


def _with_own_line_ends(text: bytes) -> bytes:
    """Where every line ends as lines of mail do, that says nothing of the lines in the tree."""
    ends = text.count(b"\n")
    return text.replace(b"\r\n", b"\n") if ends and text.count(b"\r\n") == ends else text


def _decoded(name: str, text: bytes) -> bytes:
    head, blank, body = text.partition(b"\n\n")
    found = _ENCODED.search(head[:_HEADER_BYTES])
    if found is None:
        return text
    try:
        plain = binascii.a2b_base64(body) if found[1].lower() == b"base64" else quopri.decodestring(body)
    except binascii.Error:
        raise PatchRefused(f"{name} is encoded for mail, and damaged; give the file that git wrote") from None
    return head + blank + _with_own_line_ends(plain)
