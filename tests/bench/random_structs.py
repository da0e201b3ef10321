# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether candidates for random structs of an ELF file are legal and have the layout that a compiler gives them.

Usage: PYTHONPATH=tests python tests/bench/random_structs.py VMLINUX [--structs 2000] [--seed 1]

Each struct gets random heat on one to three of its lines, half of them random facts of the source, and an allowance to
grow. Every candidate is judged by rules written for this alone (tests/legality/checker.py), and compiled by gcc.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from legality.study import Outcome, cases, study

from linesmith.analyzer.layouts.dwarf import read_layouts

BATCH = 100
MOST_SHOWN = 40


def main() -> None:
    """Print what was asked and answered; the exit status is 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("elf", type=Path)
    parser.add_argument("--structs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = monotonic()
    layouts = read_layouts(options.elf).layouts
    drawn = cases(layouts, options.structs, options.seed)
    found = Outcome(Counter(), Counter(), ())
    with TemporaryDirectory() as folder:
        while batch := list(islice(drawn, BATCH)):
            found += study(batch, layouts, Path(folder))
            print(f"{monotonic() - began:6.0f} s  {dict(found.asked)}  {len(found.wrong)} wrong", flush=True)
    print(dict(found.strategies))
    for said in found.wrong[:MOST_SHOWN]:
        print(" ", said)
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
