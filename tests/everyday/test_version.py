# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith --version`` says what an error report needs."""

from __future__ import annotations

import platform
import re
from importlib.metadata import version

from linesmith_command import linesmith


def test_the_version_comes_first_and_facts_of_the_build_follow() -> None:
    first, *facts = linesmith("--version").stdout.splitlines()
    assert first == f"linesmith, version {version('linesmith')}"
    assert re.fullmatch(r"native core: \S+ \S.*, libdw \d\S*, capstone \d+\.\d+", facts[0])
    assert re.fullmatch(r"source scan: (LLVM \d+\S*|not part of this installation)", facts[1])
    assert facts[2] in ("plugin for QEMU: there", "plugin for QEMU: not part of this installation")
    assert facts[3] == f"Python: {platform.python_version()} on {platform.machine()}"
    assert re.fullmatch(r"index format: linesmith-index\d+", facts[4])
