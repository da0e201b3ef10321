# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of this folder, which are run by name, still fit the product: all that they import is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
_IMPORT_ALL = """
import runpy, sys
for file in sys.argv[1:]:
    runpy.run_path(file, run_name="imported")
"""


def test_every_program_finds_what_it_imports() -> None:
    programs = sorted(one for one in FOLDER.glob("*.py") if one != Path(__file__))
    places = os.pathsep.join([str(FOLDER), str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL, *programs],
        env={**os.environ, "PYTHONPATH": places},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
