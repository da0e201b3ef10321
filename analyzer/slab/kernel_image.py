# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes of a kernel image, to be searched for what the kernel says of itself."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linesmith.analyzer.errors import ElfError


@contextmanager
def kernel_image(elf: Path) -> Iterator[mmap.mmap | bytes]:
    """The content of ``elf``, mapped where the file system lets it be, else read. Raises ``ElfError``."""
    try:
        with elf.open("rb") as file:
            image = _mapped(file.fileno())
            if image is None:
                yield file.read()
                return
            with image:
                yield image
    except OSError as error:
        raise ElfError(f"cannot read {elf}: {error}; give a vmlinux") from error


def _mapped(descriptor: int) -> mmap.mmap | None:
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        # What the kernel writes itself, as /sys/kernel/btf/vmlinux, can be read but not always mapped.
        return None
