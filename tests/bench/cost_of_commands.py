# SPDX-License-Identifier: GPL-2.0-or-later
"""How time and memory of commands grow with their input: ``python tests/bench/cost_of_commands.py ELF RECORDING TYPE``.

Of a recording an eighth, a quarter, half and all of the lines are asked about, hottest first, then samples and texts
that are written here, 1, 2, 4 and 8 times as long, each twice: with the index of the ELF file at hand, and with what
the first run found. ``layout`` shows TYPE, first without an index. A row has CPU seconds and peak resident MiB of both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import perf_data_speed
import profile_text_speed

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.plugins.profiles.formats import encode_for
from linesmith.plugins.registry import read_profiles

PARTS = (8, 4, 2, 1)
TIMES = (1, 2, 4, 8)
SAMPLES, TEXT_BYTES = 250_000, 2 << 20
LINESMITH = Path(sys.executable).with_name("linesmith")
_COLUMNS = "CPU s | MiB | found before: CPU s | MiB |\n|---|---|---|---|---|---|"


def ran(cache: Path, *arguments: str | Path) -> tuple[float, float]:
    """CPU seconds and peak resident MiB of one command."""
    environment = {**os.environ, "LINESMITH_CACHE_DIR": str(cache)}
    child = subprocess.Popen([LINESMITH, "-q", *arguments], stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{arguments} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def show(name: str, amount: str, cache: Path, *arguments: str | Path) -> None:
    """Print the row of a command that is run twice, of which nothing has been found yet."""
    for found in cache.glob("*.found"):
        found.unlink()
    (first, most), (again, less) = (ran(cache, *arguments) for _ in range(2))
    print(f"| `{name}` | {amount} | {first:.1f} | {most:.0f} | {again:.1f} | {less:.0f} |", flush=True)


def parts(recording: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Parts of the recording and how long they are; they have no trace, so that runs are reconstructed."""
    (whole,) = read_profiles(recording)
    for part in PARTS:
        lines = whole.lines[: len(whole.lines) // part]
        profile = folder / f"part-{part}"
        profile.write_bytes(encode_for(replace(whole, lines=lines), profile))
        yield profile, f"{len(lines):,} lines, {sum(len(line.accesses) for line in lines):,} accesses"


def written(times: int, folder: Path) -> tuple[Path, Path, Path, Path]:
    """A program with samples of it, and another with a text of `perf c2c report`."""
    (folder / str(times)).mkdir()
    elf, data = perf_data_speed.written(times * SAMPLES, folder / str(times))
    text = folder / f"c2c-{times}.txt"
    text.write_text(profile_text_speed.c2c_report(times * TEXT_BYTES))
    return elf, data, profile_text_speed.elf_in(folder), text


def tables(elf: Path, recording: Path, type_: str, folder: Path) -> None:
    """Print a row for each command and input."""
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    print(f"| command | input | {_COLUMNS}")
    show("layout", f"{elf.stat().st_size / 1e6:,.0f} MB", cache, "layout", elf, type_)
    ran(cache, "hot", elf, recording)
    inputs = list(parts(recording, folder))
    for command in ("hot", "suggest"):
        for profile, amount in inputs:
            show(command, amount, cache, command, elf, profile)
        if command == "suggest":
            show(command, "all of it, with its trace", cache, command, elf, recording)
    for times in TIMES:
        # In a process of its own: the peak of a child is no less than what its parent had when it was started.
        with ProcessPoolExecutor(1) as pool:
            program, data, small, text = pool.submit(written, times, folder).result()
        for one, profile, what in ((program, data, f"{times * SAMPLES:,} samples"), (small, text, "text")):
            ran(cache, "layout", one)
            show("hot", f"{what}, {profile.stat().st_size / 1e6:.1f} MB", cache, "hot", one, profile)


def main() -> None:
    """Read the names of the files and print the table."""
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        try:
            tables(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(folder))
        except LinesmithError as error:
            raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
