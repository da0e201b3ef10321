# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel tree in small, whose makefile configures, prepares and says how it would compile its units."""

from __future__ import annotations

from pathlib import Path

from patch_cases import write_files
from text_cases import files_in

FILES = files_in(Path(__file__).with_suffix(".txt"))
MAKEFILE, HEADER = FILES["Makefile"], FILES["include/linux/s.h"]
PATCHED = HEADER.replace("\tstruct lock lock;\n", "").replace("name[60];\n", "name[60];\n\tstruct lock lock;\n")


def small_kernel(root: Path) -> Path:
    return write_files(root, FILES)
