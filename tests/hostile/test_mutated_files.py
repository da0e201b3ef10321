# SPDX-License-Identifier: GPL-2.0-or-later
"""Files damaged by chance are read or refused: no crash, no traceback, 1 GiB of memory, 5 s of CPU time.

Traces and TOML files of a tree are each read as its commands do; profiles have tests/profiles.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hostile import mutated_elf
from hostile.mutation import EXTREMES, SOUND, Kind, Sample, flipped, moved, mutated, outcome, truncated
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.intent.reading import read_intent
from linesmith.tuner.replay.replayer import open_trace
from linesmith.tuner.run.plan_file import read_plan

_WORDS = (
    b"0x", b"%", b"|", b"[", b"{", b'"', b"\n", b"\t", b"-", b"9" * 30, b"nan", b"\xff\xfe", b"=", b".", b"null",
    b"1e999",
)  # fmt: skip


def a_number_replaced(random: Random, content: bytearray) -> None:
    """A number in text that nobody wrote."""
    starts = [at for at in range(len(content)) if content[at : at + 1].isdigit() and not content[at - 1 : at].isdigit()]
    start = random.choice(starts)
    end = start
    while content[end : end + 1].isdigit():
        end += 1
    content[start:end] = str(random.choice((*EXTREMES, 10**40, -(10**20)))).encode()


def a_word_put_in(random: Random, content: bytearray) -> None:
    """A sign that means something, where it means nothing."""
    at = random.randrange(len(content))
    content[at:at] = random.choice(_WORDS) * random.choice((1, 1, 1, 100, 10_000))


def a_line_repeated(random: Random, content: bytearray) -> None:
    """A line many times over, or none of it."""
    lines = bytes(content).split(b"\n")
    at = random.randrange(len(lines))
    lines[at : at + 1] = [lines[at]] * random.choice((0, 2, 50, 1000))
    content[:] = b"\n".join(lines)


_TEXT = (flipped, truncated, moved, a_number_replaced, a_word_put_in, a_line_repeated)


def _trace(folder: Path) -> Iterator[Sample]:
    steps = [Step(cpu, kind, 0x1000 + 8 * cpu, code=0x40 + cpu) for cpu in range(2) for kind in "LS"]
    file = write_trace(folder / "trace", turns(steps, 50), (0, 0))
    yield Sample("trace", {"trace": file.read_bytes()}, "trace", "trace")


def _text_sample(name: str) -> Callable[[Path], Iterator[Sample]]:
    def samples(_folder: Path) -> Iterator[Sample]:
        text = Path(__file__).with_name("sources").joinpath(name).read_bytes()
        yield Sample(name, {name: text}, name, name)

    return samples


def _replayed(file: Path) -> None:
    open_trace(file, ())


TEXT_KINDS = (
    Kind("trace", _trace, (flipped, truncated, moved), (_replayed,)),
    Kind("intents", _text_sample("intents.toml"), _TEXT, (read_intent,)),
    Kind("plan", _text_sample("search.toml"), _TEXT, (read_plan,)),
)


KINDS = {kind.name: kind for kind in (mutated_elf.KIND, *TEXT_KINDS)}
COUNTS = {"elf": 26, "trace": 6, "intents": 12, "plan": 12}
MORE = [pytest.param(kind, 5 * count, marks=pytest.mark.study) for kind, count in COUNTS.items()]


@pytest.mark.parametrize(("kind", "count"), [*COUNTS.items(), *MORE])
def test_a_damaged_file_is_read_or_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, count: int
) -> None:
    """The samples are damaged in turns; a seed makes the same file again."""
    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "sound").mkdir()
    samples = list(KINDS[kind].samples(tmp_path / "sound"))
    wrong = []
    for number in range(count):
        sample = samples[number % len(samples)]
        seed = f"{kind} {sample.name} 2 {number}"
        became, told = outcome(KINDS[kind], sample, mutated(sample, KINDS[kind].mutations, seed), tmp_path)
        wrong += [] if became in SOUND else [(seed, became, told)]
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    assert wrong == []
