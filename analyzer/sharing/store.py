# SPDX-License-Identifier: GPL-2.0-or-later
"""What was found about a profile and a build, kept beside the index, so that the next command begins where one ended.

The name of a file is a digest of all that an answer depends on: the profile, the layouts, the file that they are of,
what was asked, and the code of the product. A file that is damaged or gone is an answer to be found again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import msgspec

from linesmith.analyzer.layouts import store
from linesmith.analyzer.layouts.dwarf import Reading, cache_place
from linesmith.analyzer.model import Profile

FORMAT = b"linesmith-found1"
SUFFIX = ".found"
_DIGEST_BYTES = 16
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """The answers about one profile and one build, in a ``directory``; ``premises`` are a digest of these two."""

    directory: Path
    premises: bytes

    def load(self, question: Iterable[object], answer: type[T]) -> T | None:
        """The answer to a question, if it is there and sound."""
        path = self.directory / self._name(question)
        try:
            encoded, _ = store.head_and_body(path.read_bytes(), FORMAT)
            found = msgspec.msgpack.decode(encoded, type=answer)
        except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
            return None
        with suppress(OSError):
            os.utime(path)  # the least recently used file is the first to go
        return found

    def keep(self, question: Iterable[object], answer: object) -> None:
        """Have the answer at hand; where it cannot be kept, or is of numbers that cannot, it is found again."""
        with suppress(OSError, OverflowError, UnicodeEncodeError):
            store.keep(self.directory, self._name(question), (store.prefixed(FORMAT, msgspec.msgpack.encode(answer)),))

    def _name(self, question: Iterable[object]) -> str:
        asked = repr(tuple(question)).encode("utf-8", "replace")
        return blake2b(self.premises + asked, digest_size=_DIGEST_BYTES).hexdigest() + SUFFIX


def kept_answers(reading: Reading, profile: Profile, *options: object) -> KeptAnswers | None:
    """Those about the ``profile``, whatever it is called, and the build of ``reading``; ``options`` matter to all.

    ``None`` where none can be kept.
    """
    place = cache_place(reading.identity, reading.reader)
    if place.directory is None or reading.layouts.head.stamp != place.stamp:
        return None
    digest = blake2b(repr((place.stamp, reading.layouts.head.body_crc, _code(), options)).encode("utf-8", "replace"))
    try:
        digest.update(msgspec.msgpack.encode(replace(profile, source="")))
    except (OverflowError, UnicodeEncodeError):  # a number that only JSON can hold, or half of a character
        return None
    return KeptAnswers(place.directory, digest.digest())


@cache
def _code() -> tuple[tuple[str, int, int], ...]:
    """What tells one state of our own code from another: a new release, or an edited file, may answer otherwise."""
    found = ((path, path.stat()) for path in sorted(Path(__file__).parents[1].glob("*/*.py")))
    return tuple((path.name, facts.st_size, facts.st_mtime_ns) for path, facts in found)
