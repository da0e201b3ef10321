# SPDX-License-Identifier: GPL-2.0-or-later
"""The release of a kernel, by the banner in its image (init/version.c, linux_banner)."""

from __future__ import annotations

import re
from pathlib import Path

from linesmith.analyzer.slab.kernel_image import kernel_image

_BANNER = re.compile(rb"Linux version (\d{1,3})\.(\d{1,3})\D")


def release_of(elf: Path) -> tuple[int, int] | None:
    """Version and patch level of the kernel in ``elf``; ``None`` where it says none. Raises ``ElfError``."""
    with kernel_image(elf) as image:
        match = _BANNER.search(image)
        return None if match is None else (int(match[1]), int(match[2]))
