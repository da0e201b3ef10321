# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether candidates for random structs of a kernel are written as asked, and compile to what they promise.

Usage: PYTHONPATH=tests python tests/bench/rewritten_structs.py VMLINUX TREE [--structs N] [--suffix .h] [--seed 1]

The tree must have a ``.config``, the one of the vmlinux best. It is only read.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from legality.study import cases
from rewriting.study import Outcome, Result, study

from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.patches.source.tree import Tree

EACH = 200


def main() -> None:
    """Print what became of the structs; the exit status is 1 when an edit was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("elf", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--structs", type=int, default=500, help="how many to draw")
    parser.add_argument("--suffix", default="", help="only files with this ending, such as .h")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a file for one line of text on each struct")
    options = parser.parse_args()
    results: list[Result] = []
    for result in _results(options):
        results.append(result)
        if result.outcome in (Outcome.WRONG, Outcome.REFUSED):
            print(f"{result.outcome.value}: {result.name} {result.place} {result.reason}: {result.said}", flush=True)
    _tell(results)
    if options.output:
        rows = ("\t".join((one.outcome.name, one.reason, one.name, one.place, one.said)) for one in results)
        options.output.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    sys.exit(any(result.outcome is Outcome.WRONG for result in results))


def _results(options: argparse.Namespace) -> Iterator[Result]:
    began = monotonic()
    layouts = read_layouts(options.elf).layouts
    drawn = cases(layouts, options.structs, options.seed)
    fitting = (case for case in drawn if (case.layout.file or "").endswith(options.suffix))
    for number, result in enumerate(study(Tree(options.tree), fitting, layouts), 1):
        yield result
        if number % EACH == 0:
            print(f"{monotonic() - began:6.0f} s  {number}", flush=True)


def _tell(results: list[Result]) -> None:
    for outcome, count in Counter(result.outcome for result in results).most_common():
        print(f"{count:6} {outcome.value}")
        reasons = Counter(result.reason for result in results if result.outcome is outcome and result.reason)
        for reason, times in reasons.most_common():
            print(f"{times:12} {reason}")


if __name__ == "__main__":
    main()
