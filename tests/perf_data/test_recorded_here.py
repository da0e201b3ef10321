# SPDX-License-Identifier: GPL-2.0-or-later
"""What perf records on this machine: samples of a clock, which touch no memory, but in files that perf itself wrote."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from perf_data.perfs import PERFS, needed

from linesmith.analyzer.errors import ProfileError
from linesmith.plugins.profiles.perf_data.source import PerfData

_SECONDS = 300
_COMMAND = (sys.executable, "-c", "sum(number * number for number in range(2_000_000))")


def recorded(perf: str, file: Path, *options: str) -> None:
    """Record the command into the file, or out of a pipe into it."""
    argv = (needed(perf), "record", "-q", "-d", "-e", "cpu-clock", *options, "--", *_COMMAND)
    done = subprocess.run(argv, capture_output=True, timeout=_SECONDS, check=False)
    if done.returncode:
        pytest.skip(f"perf cannot record here: {done.stderr.decode(errors='replace').strip()[:200]}")
    if "-" in options:
        file.write_bytes(done.stdout)


@pytest.mark.parametrize("perf", PERFS)
@pytest.mark.parametrize("options", [(), ("-g",), ("-z",), ("-g", "-z"), ("-a",)], ids=" ".join)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_every_sample_is_read(perf: str, options: tuple[str, ...], piped: bool, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    recorded(perf, path, *options, "-o", "-" if piped else str(path))
    printed = subprocess.run([perf, "script", "-i", path, "-F", "event"], capture_output=True, text=True, check=True)
    samples = len(re.findall(r"^\s*cpu-clock\S*:", printed.stdout, re.MULTILINE))
    with pytest.raises(ProfileError, match=rf"\(samples: {samples} no memory access[,)]"):
        PerfData().read(path, "perf.data")
