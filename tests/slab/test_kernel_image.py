# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel says of itself is found in a file that cannot be mapped, too."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from linesmith.analyzer.errors import ElfError
from linesmith.analyzer.slab import release_of

# A file that the kernel writes when it is read, as /sys/kernel/btf/vmlinux is.
_VERSION = Path("/proc/version")


def test_the_release_is_read_where_the_file_cannot_be_mapped() -> None:
    with _VERSION.open("rb") as file, pytest.raises((OSError, ValueError)):
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    major, minor, *_ = os.uname().release.split(".")
    assert release_of(_VERSION) == (int(major), int(minor))


def test_a_file_that_says_none_has_no_release(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert release_of(tmp_path / "empty") is None


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ElfError, match=r"cannot read .*; give a vmlinux"):
        release_of(tmp_path / "gone")
