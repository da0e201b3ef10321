# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of a text of any length, a few at a time, without what mails and terminals put around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linesmith.analyzer.errors import ProfileError
from linesmith.plugins.profiles.unmail import bare, unmail
from linesmith.plugins.text import WIDE_MARKS, decode, read_text

# Up to here a text is read whole, because transfer encodings are told from all of it.
_MOST_MAIL_BYTES = 8 << 20
_LONGEST_LINE = 16 << 10
_HEAD_BYTES = 64 << 10


def clean_lines(path: Path, source: str) -> Iterator[str]:
    """Every line without its end; one that is longer than any that perf prints is cut.

    Raises ``ProfileError`` when the file cannot be read or is no text.
    """
    try:
        size = path.stat().st_size
        if size <= _MOST_MAIL_BYTES:
            yield from (line.text[:_LONGEST_LINE] for line in unmail(read_text(path, source)))
            return
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            decode(head, source)
            if head.startswith(WIDE_MARKS):
                raise ProfileError(f"{source} is too large for UTF-16; convert it with `iconv -t UTF-8`")
            file.seek(0)
            yield from _streamed(iter(lambda: file.readline(_LONGEST_LINE), b""))
    except OSError as error:
        raise ProfileError(f"cannot read the profile {source}: {error.strerror or error}") from error


def _streamed(lines: Iterator[bytes]) -> Iterator[str]:
    """Decoded lines; the parts behind the first of an overlong one are dropped."""
    inside = False
    for line in lines:
        ended = line.endswith(b"\n")
        if not inside:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            yield text if text.isascii() and text.isprintable() else bare(text)
        inside = not ended
