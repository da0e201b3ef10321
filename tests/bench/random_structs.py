# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether candidates for random structs of an ELF file are legal and laid out as promised, and written as asked.

Usage: PYTHONPATH=tests python tests/bench/random_structs.py VMLINUX [--tree TREE] [--structs 2000] [--seed 1]

Each struct gets random heat on one to three of its lines, half of them random facts of the source, and an allowance to
grow. Every candidate is judged by rules written for this alone (tests/legality/checker.py), and compiled by gcc. With
``--tree`` candidates are written into sources instead, and compiled to what they promise: the tree must have a
``.config``, the one of the vmlinux best, and is only read.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from legality import study as legal
from rewriting.study import Outcome, Result, study

from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.patches.source.tree import Tree

BATCH, EACH = 100, 200
MOST_SHOWN = 40


def main() -> None:
    """Print what was asked and answered; the exit status is 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("elf", type=Path)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--structs", type=int, default=2000)
    parser.add_argument("--suffix", default="", help="with --tree: only files with this ending, such as .h")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="with --tree: a file for one line of text on each struct")
    options = parser.parse_args()
    layouts = read_layouts(options.elf).layouts
    sys.exit((_written if options.tree else _judged)(options, layouts))


def _judged(options: argparse.Namespace, layouts: Layouts) -> bool:
    """Whether a candidate is wrong."""
    began, drawn = monotonic(), legal.cases(layouts, options.structs, options.seed)
    found = legal.Outcome(Counter(), Counter(), ())
    with TemporaryDirectory() as folder:
        while batch := list(islice(drawn, BATCH)):
            found += legal.study(batch, layouts, Path(folder))
            print(f"{monotonic() - began:6.0f} s  {dict(found.asked)}  {len(found.wrong)} wrong", flush=True)
    print(dict(found.strategies))
    for said in found.wrong[:MOST_SHOWN]:
        print(" ", said)
    return bool(found.wrong)


def _written(options: argparse.Namespace, layouts: Layouts) -> bool:
    """Whether an edit is wrong."""
    began, results = monotonic(), list[Result]()
    drawn = legal.cases(layouts, options.structs, options.seed)
    fitting = (case for case in drawn if (case.layout.file or "").endswith(options.suffix))
    for number, result in enumerate(study(Tree(options.tree), fitting, layouts), 1):
        results.append(result)
        if result.outcome in (Outcome.WRONG, Outcome.REFUSED):
            print(f"{result.outcome.value}: {result.name} {result.place} {result.reason}: {result.said}", flush=True)
        if number % EACH == 0:
            print(f"{monotonic() - began:6.0f} s  {number}", flush=True)
    for outcome, count in Counter(result.outcome for result in results).most_common():
        print(f"{count:6} {outcome.value}")
        reasons = Counter(result.reason for result in results if result.outcome is outcome and result.reason)
        for reason, times in reasons.most_common():
            print(f"{times:12} {reason}")
    if options.output:
        rows = ("\t".join((one.outcome.name, one.reason, one.name, one.place, one.said)) for one in results)
        options.output.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return any(result.outcome is Outcome.WRONG for result in results)


if __name__ == "__main__":
    main()
