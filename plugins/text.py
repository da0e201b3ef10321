# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the bytes of a profile into text, and names the files that are no text."""

from __future__ import annotations

import codecs

from linesmith.analyzer.errors import ProfileError

_MAGICS = {
    b"PERFILE2": "is a perf.data file; run `perf c2c report --stdio -i` on it and give the text",
    b"2ELIFREP": "is a perf.data file; run `perf c2c report --stdio -i` on it and give the text",
    b"\x7fELF": "is an ELF file, not a profile; the ELF comes first, the profile second",
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"\xfd7zXZ": "is compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it first",
    b"BZh": "is compressed with bzip2; unpack it first",
    b"PK\x03\x04": "is a zip archive; unpack it first",
}
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode(data: bytes, name: str) -> str:
    """The text of ``data``: UTF-8 (bytes that are not become replacement characters), or UTF-16 with a mark.

    Raises ``ProfileError`` for data that is no text, with what it is instead.
    """
    for magic, words in _MAGICS.items():
        if data.startswith(magic):
            raise ProfileError(f"{name} {words}")
    if data.startswith(_WIDE):
        return data.decode("utf-16", "replace")
    if data.count(b"\0") * 100 > len(data):
        raise ProfileError(f"{name} is no text but binary data; give the text of `perf c2c report --stdio`")
    return data.decode("utf-8", "replace")
