# SPDX-License-Identifier: GPL-2.0-or-later
"""The release of a kernel is what its banner says, and not what only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.slab import release_of


@pytest.mark.parametrize(
    ("content", "release"),
    [
        (b"Linux version 6.12.8 (gcc)", (6, 12)),
        (b"Linux version %s\0Linux version 4.19-rc1", (4, 19)),
        (b"Linux version Linux version 5.10.0", (5, 10)),
        (b"Linux version 6.1", None),  # cut off: it may go on with another digit
        (b"Linux", None),
    ],
)
def test_the_first_whole_banner_counts(content: bytes, release: tuple[int, int] | None, tmp_path: Path) -> None:
    image = tmp_path / "vmlinux"
    image.write_bytes(b"\x7fELF\0" + content)
    assert release_of(image) == release
