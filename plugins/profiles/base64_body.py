# SPDX-License-Identifier: GPL-2.0-or-later
"""Mail bodies that were sent as base64 (RFC 2045, 6.8): saved mails hold them as they travelled."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from linesmith.plugins.profiles.lines import TextLine

ANNOUNCEMENT = re.compile(r"^Content-Transfer-Encoding:[ \t]{0,8}base64\s*$", re.IGNORECASE | re.MULTILINE)
_ENCODED = re.compile(r"[A-Za-z0-9+/]{2,998}={0,2}\s*$")


def decoded_bodies(lines: Iterator[TextLine]) -> Iterator[TextLine]:
    """The lines with every announced base64 body replaced by its text; its lines keep the body's first number."""
    body: list[TextLine] = []
    announced = blank = False
    for line in lines:
        if announced and blank and _ENCODED.match(line.text):
            body.append(line)
            continue
        if body:
            yield from _decoded(body)
            body, announced = [], False
        blank = not line.text.strip()
        announced = announced or ANNOUNCEMENT.match(line.text) is not None
        yield line
    yield from _decoded(body)


def _decoded(body: list[TextLine]) -> Iterator[TextLine]:
    encoded = "".join(line.text.strip() for line in body)
    try:
        text = binascii.a2b_base64(encoded[: len(encoded) // 4 * 4]).decode("utf-8", "replace")
    except binascii.Error:
        yield from body
        return
    for line in text.splitlines():
        yield TextLine(body[0].number, line)
