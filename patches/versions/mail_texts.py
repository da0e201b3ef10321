# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches in a file, of one mail or of a whole mailbox, as they were before they went through the mail."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.errors import PatchRefused
from linesmith.patches.versions.mail_parts import Damaged, ends_of_parts, part_of, patches_in, with_own_line_ends

_MAIL = re.compile(rb"^From \S+ +\w{3} \w{3} +\d{1,2} [\d:]{8} \d{4}$", re.MULTILINE)
_PART = re.compile(rb"^Subject:(?:[^\n]|\n[ \t])*?\[[^\]\n]{0,80}?(\d{1,4})/(\d{1,4})\]", re.MULTILINE | re.IGNORECASE)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_HEADER_BYTES = 1 << 16
_MOST_BYTES = 64 << 20
_MOST_MAILS = 10_000


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
    mails = tuple(_mails(name, with_own_line_ends(content)))
    found: list[tuple[str, bytes]] = []
    for number, text in enumerate(mails, 1):
        called = name if len(mails) == 1 else f"{name}[{number}]"
        try:
            patches = _patches(text)
        except Damaged as error:
            why = f"{called} is encoded for mail, and damaged ({error})"
            raise PatchRefused(f"{why}; give the file that git wrote") from None
        names = [called] if len(patches) == 1 else [f"{called}[{part}]" for part in range(1, len(patches) + 1)]
        found += zip(names, patches, strict=True)
    return tuple(Mail(*each) for each in found)


def _mails(name: str, text: bytes) -> Iterator[bytes]:
    """The mails of a mailbox; what looks like another one within the parts of a mail is part of it."""
    starts = list(dict.fromkeys((0, *(match.start() for match in _MAIL.finditer(text)))))
    ends = ends_of_parts(text)
    mails, behind = [], 0
    for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
        if start >= behind:
            behind = _behind(ends.get(part_of(text[start:following]).boundary or b"", ()), start)
            mails.append(start)
        if len(mails) > _MOST_MAILS:
            raise PatchRefused(f"{name} has more than {_MOST_MAILS:,} mails; give those of the series alone")
    # What stands in front of the first mail, if anything, is one only where it has parts.
    if len(mails) > 1 and not _MAIL.match(text) and part_of(text[: mails[1]]).boundary is None:
        del mails[0]
    for start, end in zip(mails, [*mails[1:], None], strict=True):
        yield text[start:end]


def _behind(ends: Sequence[int], start: int) -> int:
    """The first of the places behind ``start``; 0 where there is none."""
    place = bisect_right(ends, start)
    return ends[place] if place < len(ends) else 0


def _patches(text: bytes) -> tuple[bytes, ...]:
    """What was sent: the mail without its encoding, or of several parts those that are patches; raises ``Damaged``."""
    mail = part_of(text)
    head = text[: len(text) - len(mail.body)]
    if mail.boundary is None:
        return (head + mail.content(),)
    found = patches_in(mail)
    if len(found) > 1:
        return found
    # The subject says which part of a series it is.
    return (head + found[0],) if found else (text,)
