# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged files, made from sound ones by chance, and what became of the process that read them.

Another kind of file is another ``Kind``: how its samples are made, how they are damaged, what reads them.
"""

from __future__ import annotations

import os
import resource
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from linesmith.analyzer.base.errors import LinesmithError

SECONDS = 5
BYTES = 1 << 30
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF, 1 << 63, -1)

Mutation = Callable[[Random, bytearray], None]


@dataclass(frozen=True)
class Sample:
    """Sound files by name: ``given`` is what a command is given, ``damaged`` what is mutated."""

    name: str
    files: Mapping[str, bytes]
    given: str
    damaged: str


@dataclass(frozen=True)
class Kind:
    """A kind of file; each reader takes the path of one and may raise nothing but ``LinesmithError``."""

    name: str
    samples: Callable[[Path], Iterator[Sample]]
    mutations: Sequence[Mutation]
    readers: Sequence[Callable[[Path], object]]


class Outcome(StrEnum):
    """What became of the process that read a file."""

    READ = "read"
    REFUSED = "refused"
    TRACEBACK = "traceback"
    CRASH = "crash"
    TIME = "over time"
    MEMORY = "over memory"


_STATUSES = (Outcome.READ, Outcome.REFUSED, Outcome.TRACEBACK, Outcome.MEMORY)
SOUND = (Outcome.READ, Outcome.REFUSED)


def mutated(sample: Sample, mutations: Sequence[Mutation], seed: str) -> bytes:
    """The damaged file of a sample: one to three mutations, the same ones for the same seed."""
    random = Random(seed)  # noqa: S311
    content = bytearray(sample.files[sample.damaged])
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        before = bytes(content)
        try:
            random.choice(mutations)(random, content)
        except (IndexError, ValueError, ArithmeticError, LookupError, TypeError):
            content[:] = before  # an earlier mutation left nothing that this one could damage
        except Exception:
            content[:] = before
    return bytes(content)


def outcome(kind: Kind, sample: Sample, content: bytes, folder: Path) -> tuple[Outcome, str]:
    """What reading the file ends in, in a child with limits on CPU time and memory; and its traceback."""
    for name, sound in sample.files.items():
        (folder / name).write_bytes(content if name == sample.damaged else sound)
    told = folder / "told"
    told.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        os._exit(_status(kind, folder / sample.given, told))
    _, status = os.waitpid(child, 0)
    text = told.read_text() if told.exists() else ""
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (24, 9)  # SIGXCPU, and SIGKILL where it was ignored
        return (Outcome.TIME if late else Outcome.CRASH), f"signal {os.WTERMSIG(status)}"
    return _STATUSES[os.WEXITSTATUS(status)], text


def _status(kind: Kind, file: Path, told: Path) -> int:
    """Run the readers; the position of the worst outcome in ``_STATUSES``."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        return max(_one(reader, file) for reader in kind.readers)
    except MemoryError:
        return 3
    except BaseException:
        told.write_text(traceback.format_exc())
        return 2


def _one(reader: Callable[[Path], object], file: Path) -> int:
    try:
        reader(file)
    except LinesmithError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return 1
    return 0


def flipped(random: Random, content: bytearray) -> None:
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)


def truncated(random: Random, content: bytearray) -> None:
    del content[random.randrange(len(content)) :]


def moved(random: Random, content: bytearray) -> None:
    length = random.choice((4, 16, 64, 256))
    source, target = random.randrange(len(content)), random.randrange(len(content))
    piece = content[source : source + length]
    content[target : target + len(piece)] = piece


def set_to_an_extreme(random: Random, content: bytearray, offset: int, size: int) -> None:
    """A number of so many bytes that no writer meant."""
    value = random.choice(EXTREMES) & ((1 << 8 * size) - 1)
    content[offset : offset + size] = value.to_bytes(size, "little")[: max(0, len(content) - offset)]
