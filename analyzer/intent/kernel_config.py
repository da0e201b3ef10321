# SPDX-License-Identifier: GPL-2.0-or-later
"""The configuration that a kernel carries in its image (CONFIG_IKCONFIG; kernel/configs.c)."""

from __future__ import annotations

import zlib
from pathlib import Path

from linesmith.analyzer.intent.configuration import symbols_in
from linesmith.analyzer.slab.kernel_image import kernel_image

_BEGIN = b"IKCFG_ST"
_GZIP = b"\x1f\x8b\x08"
# The largest of them have some hundred kilobytes.
_MOST_BYTES = 1 << 24


def configuration_of(elf: Path) -> frozenset[str] | None:
    """The symbols that the kernel in ``elf`` was built with; ``None`` where it does not say. Raises ``ElfError``."""
    with kernel_image(elf) as image:
        begin = image.find(_BEGIN + _GZIP)
        packed = image[begin + len(_BEGIN) : begin + len(_BEGIN) + _MOST_BYTES] if begin >= 0 else b""
    try:
        text = zlib.decompressobj(wbits=31).decompress(packed, _MOST_BYTES)
    except zlib.error:
        return None
    return symbols_in(text.decode("utf-8", "replace")) if text else None
