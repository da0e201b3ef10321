# SPDX-License-Identifier: GPL-2.0-or-later
"""The release of a kernel, by the banner in its image (init/version.c, linux_banner)."""

from __future__ import annotations

import re
from pathlib import Path

from linesmith.analyzer.slab.kernel_image import kernel_image

_BEGINNING = b"Linux version "
_BANNER = re.compile(_BEGINNING + rb"(\d{1,3})\.(\d{1,3})\D")


def release_of(elf: Path) -> tuple[int, int] | None:
    """Version and patch level of the kernel in ``elf``; ``None`` where it says none. Raises ``ElfError``."""
    with kernel_image(elf) as image:
        at = image.find(_BEGINNING)  # takes a third of the time that the expression takes to look through an image
        while at >= 0:
            match = _BANNER.match(image, at)
            if match:
                return int(match[1]), int(match[2])
            at = image.find(_BEGINNING, at + 1)
    return None
