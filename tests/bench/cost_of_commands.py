# SPDX-License-Identifier: GPL-2.0-or-later
"""How time and memory of commands grow with a profile: ``python tests/bench/cost_of_commands.py ELF RECORDING``.

Of a recording an eighth, a quarter, half and all of the lines are asked about, hottest first, twice each: with the
index of the ELF file at hand, and with what the first run found. A row has CPU seconds and peak resident MiB of both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.plugins.profiles.formats import encode_for
from linesmith.plugins.registry import read_profiles

# Not ``suggest``: of a part of a recording it cannot always make up runs.
COMMANDS = ("hot",)
PARTS = (8, 4, 2, 1)
LINESMITH = Path(sys.executable).with_name("linesmith")


def ran(cache: Path, *arguments: str | Path) -> tuple[float, float]:
    """CPU seconds and peak resident MiB of one command."""
    environment = {**os.environ, "LINESMITH_CACHE_DIR": str(cache)}
    child = subprocess.Popen([LINESMITH, "-q", *arguments], stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{arguments} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def rows(elf: Path, recording: Path, folder: Path) -> None:
    """Print a row for each command and part of the recording."""
    (whole,) = read_profiles(recording)
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    ran(cache, "hot", elf, recording)
    print("| command | lines | accesses | CPU s | MiB | found before: CPU s | MiB |\n|---|---|---|---|---|---|---|")
    for part in PARTS:
        lines = whole.lines[: len(whole.lines) // part]
        profile = folder / f"part-{part}"
        profile.write_bytes(encode_for(replace(whole, lines=lines), profile))
        accesses = sum(len(line.accesses) for line in lines)
        for command in COMMANDS:
            for found in cache.glob("*.found"):
                found.unlink()
            (first, most), (again, less) = (ran(cache, command, elf, profile) for _ in range(2))
            used = f"{first:.1f} | {most:.0f} | {again:.1f} | {less:.0f}"
            print(f"| `{command}` | {len(lines):,} | {accesses:,} | {used} |", flush=True)


def main() -> None:
    """Read the names of the files and print the table."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows(Path(sys.argv[1]), Path(sys.argv[2]), Path(folder))
        except LinesmithError as error:
            raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
