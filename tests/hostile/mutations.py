# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads many damaged files and counts what becomes of it: ``python tests/hostile/mutations.py elf --count 5000``.

Each file is read in a process of its own, with 1 GiB of memory and 5 s of CPU time. Files that are neither read nor
refused with a sentence are kept with ``--keep FOLDER``. The same seed makes the same files.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hostile import mutated_elf, mutated_index, mutated_profile
from hostile.mutation import SOUND, Kind, Outcome, Sample, mutated, outcome

KINDS = {kind.name: kind for kind in (mutated_elf.KIND, mutated_index.KIND, *mutated_profile.KINDS)}


@dataclass(frozen=True)
class Trial:
    """A damaged file, what reading it ended in, and the traceback or signal if there was one."""

    sample: Sample
    seed: str
    content: bytes
    outcome: Outcome
    told: str


def trials(kind: Kind, count: int, seed: int, folder: Path) -> Iterator[Trial]:
    """So many damaged files, taken from the samples in turns; ``folder`` is for the files and for the cache."""
    os.environ["LINESMITH_CACHE_DIR"] = str(folder / "cache")
    sound = folder / "sound"
    sound.mkdir()
    samples = list(kind.samples(sound))
    for number in range(count):
        sample = samples[number % len(samples)]
        name = f"{kind.name} {sample.name} {seed} {number}"
        content = mutated(sample, kind.mutations, name)
        yield Trial(sample, name, content, *outcome(kind, sample, content, folder))
        shutil.rmtree(folder / "cache", ignore_errors=True)


def main() -> None:
    """Read the damaged files and print the counts; the status is 1 when one was neither read nor refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    counts: Counter[Outcome] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for trial in trials(KINDS[arguments.kind], arguments.count, arguments.seed, Path(folder)):
            counts[trial.outcome] += 1
            if trial.outcome not in SOUND:
                print(f"{trial.seed}: {trial.outcome}\n{trial.told}", flush=True)
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / trial.seed.replace(" ", "-")).write_bytes(trial.content)
    print(", ".join(f"{one.value}: {counts[one]}" for one in Outcome))
    raise SystemExit(any(counts[one] for one in Outcome if one not in SOUND))


if __name__ == "__main__":
    main()
