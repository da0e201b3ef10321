# SPDX-License-Identifier: GPL-2.0-or-later
"""How indexing grows with the records of one file, beside pahole: ``python tests/bench/index_scale.py``.

Each file is one compile unit of C with so many small structs, all different. Both commands run in turns; the table
gives medians of wall seconds, CPU seconds and peak MiB, and our bytes for each record above those of an empty file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from layout_speed import Contest, Cost, held

RECORDS = (1_000, 10_000, 80_000, 500_000)
LINESMITH = str(Path(sys.executable).with_name("linesmith"))


def compiled(folder: Path, records: int) -> Path:
    """An object of so many structs of four members; each is used by a variable, so that gcc keeps it."""
    source = folder / f"records{records}.c"
    with source.open("w") as text:
        for number in range(records):
            text.write(
                f"struct s{number} {{ int a{number}; long b; struct s{number} *next; char c[{number % 50 + 1}]; }};\n"
                f"extern struct s{number} *v{number};\nstruct s{number} *v{number};\n"
            )
    target = source.with_suffix(".o")
    subprocess.run(["gcc", "-g", "-c", source, "-o", target], check=True)
    return target


def contest(file: Path, cache: Path) -> Contest:
    """Indexing the file from nothing, and pahole's reading of it."""
    return Contest(
        file.name,
        [LINESMITH, "index", str(file)],
        ["pahole", "-F", "dwarf", str(file)],
        lambda: shutil.rmtree(cache, ignore_errors=True),
    )


def row(records: int, ours: Cost, theirs: Cost, empty: Cost) -> str:
    """One line of the table."""
    each = (ours.peak_mib - empty.peak_mib) * (1 << 20) / records
    figures = " ".join(f"{one.wall:7.3f} s {one.cpu:7.3f} s {one.peak_mib:6.0f} MiB" for one in (ours, theirs))
    return f"{records:8} {figures} {ours.wall / theirs.wall:6.2f} {ours.cpu / theirs.cpu:6.2f} {each:8.0f} B"


def main() -> None:
    """Measure every size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--records", type=int, nargs="+", default=RECORDS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name), Path(name) / "cache"
        os.environ["LINESMITH_CACHE_DIR"] = str(cache)
        empty, _ = held(contest(compiled(folder, 1), cache), arguments.runs)
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, medians of {arguments.runs}")
        print(" records linesmith: wall, CPU, peak   pahole: wall, CPU, peak       wall    CPU  a record")
        for records in arguments.records:
            print(row(records, *held(contest(compiled(folder, records), cache), arguments.runs), empty), flush=True)


if __name__ == "__main__":
    main()
