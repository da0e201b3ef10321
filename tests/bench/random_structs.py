# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether candidates for random structs of an ELF file are legal and have the layout that a compiler gives them.

Usage: PYTHONPATH=tests python tests/bench/random_structs.py VMLINUX [--structs 2000] [--seed 1]

Each struct gets random heat on one to three of its lines, half of them random facts of the source, and an allowance to
grow. Every candidate is judged by rules written for this alone (tests/legality/checker.py), and compiled by gcc.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from legality.study import study

from linesmith.analyzer.dwarf import read_layouts


def main() -> None:
    """Print what was asked and answered; the exit status is 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("elf", type=Path)
    parser.add_argument("--structs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = monotonic()
    with TemporaryDirectory() as folder:
        found = study(read_layouts(options.elf).layouts, options.structs, options.seed, Path(folder))
    print(f"{found.structs} structs, {found.answered['with facts']} with facts")
    print(f"{found.answered['candidates']} have candidates: {found.candidates} in all, {dict(found.moves)}")
    print(f"{found.unexplained} start from a layout that only inferred alignments explain")
    print(f"{len(found.wrong)} wrong, {monotonic() - began:.0f} s")
    for said in found.wrong[:40]:
        print(" ", said)
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
