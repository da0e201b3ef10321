# SPDX-License-Identifier: GPL-2.0-or-later
"""What every source of profiles has to keep, checked on examples: ``assert not list(breaches(MySource(), examples))``.

It needs no test framework and nothing of linesmith's own tests, so that a package with a source can use it in its own.
"""

from __future__ import annotations

import random
import tempfile
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.model import CacheLine, Profile
from linesmith.plugins.api import ProfileSource
from linesmith.plugins.text import printable, printable_profile

_HEAD_BYTES = 64 << 10
_NAME = "example.profile"
_LINE_SIZES = (64, 128, 256)
_CUTS = 24
_LONGEST_MESSAGE = 1000
# What Python's own objects take of a text that is read as words, and a constant for what a source loads first.
_MEMORY_PER_BYTE, _MEMORY = 64, 64 << 20
_COUNTS = (
    "hitm_remote", "hitm_local", "peer_remote", "peer_local", "stores_l1_hit", "stores_l1_miss", "stores_na", "taken",
)  # fmt: skip
_COUNTS_OF_ROWS = (*_COUNTS, "records", "cpus", "cycles_remote", "cycles_local", "cycles_load", "code_address", "width")
# What no source may take for its own: other files that people give by mistake.
_FOREIGN = {
    "an empty file": b"",
    "blanks": b"  \n\n",
    "a text": b"The quick brown fox jumps over the lazy dog.\n" * 20,
    "source code": b"int main(void)\n{\n\treturn 0; /* 100.00% */\n}\n",
    "JSON": b'{"lines": [], "version": 1}\n',
    "a web page": b"<html><body><h1>404</h1><p>Not found</p></body></html>\n",
    "an ELF file": b"\x7fELF\x02\x01\x01" + bytes(57),
    "a compressed file": b"\x1f\x8b\x08\x00" + bytes(range(256)),
    "zeros": bytes(4096),
    "random bytes": random.Random(0).randbytes(4096),  # noqa: S311 - the same each time
}  # fmt: skip
_PUT_IN = {
    "terminal escapes": b"\x1b[31m\x1b]0;title\x07\xc2\x9b2J",
    "reversed writing": "\u202e\u2066\u200f".encode(),
    "line ends": b"\n\r\n\x0b\x0c\xc2\x85\xe2\x80\xa8",
    "zeros": bytes(16),
    "a gigantic number": b"9" * 400,
    "bytes that are not UTF-8": b"\xff\xfe\xed\xa0\x80",
    "a long word": b"a" * 70_000,
}


@dataclass(frozen=True, slots=True)
class Example:
    """A file that the source reads; ``samples`` are all that are in it, where the source has samples."""

    path: Path
    samples: int | None = None


def breaches(source: object, examples: Iterable[Example], foreign: Iterable[Path] = ()) -> Iterator[str]:
    """A sentence for each rule that ``source`` breaks; ``foreign`` are files that other sources read."""
    if not isinstance(source, ProfileSource):
        yield f"{type(source).__name__} has no name, recognises and read as linesmith.plugins.api.ProfileSource has"
        return
    given = tuple(examples)
    if not given:
        yield "there is no example to check the source with"
    yield from _recognition(source, given, foreign)
    for example in given:
        yield from _reading(source, example)
        yield from _hostile(source, example)


def _recognition(source: ProfileSource, examples: Iterable[Example], foreign: Iterable[Path]) -> Iterator[str]:
    """It recognises its own files and nobody else's."""
    for example in examples:
        if source.recognises(_head(example.path)) is not True:
            yield f"{example.path.name}: recognises() does not say True of the source's own example"
    heads = {**_FOREIGN, **{path.name: _head(path) for path in foreign}}
    for name, head in heads.items():
        if source.recognises(head) is not False:
            yield f"{name}: recognises() does not say False of what another source reads, or none"


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _reading(source: ProfileSource, example: Example) -> Iterator[str]:
    """The example is read to sound profiles, twice the same, in memory that its size bounds."""
    name = example.path.name
    tracemalloc.start()
    try:
        profiles = source.read(example.path, _NAME)
        peak = tracemalloc.get_traced_memory()[1]
    except LinesmithError as error:
        yield f"{name}: the example is refused: {error}"
        return
    finally:
        tracemalloc.stop()
    if not profiles or not isinstance(profiles, tuple):
        yield f"{name}: read() gives {profiles!r} instead of a tuple of profiles"
        return
    for profile in profiles:
        yield from (f"{name}: {words}" for words in unsound(profile))
        # Samples in are samples out.
        if example.samples is not None and profile.sampling is None:
            yield f"{name}: the profile does not say where its samples ended (sampling)"
        elif example.samples is not None and profile.sampling and profile.sampling.samples != example.samples:
            ended = profile.sampling.samples
            yield f"{name}: the outcomes add up to {ended} samples instead of {example.samples}"
    if source.read(example.path, _NAME) != profiles:
        yield f"{name}: read again, the profiles are others"
    allowed = _MEMORY + _MEMORY_PER_BYTE * example.path.stat().st_size
    if peak > allowed:
        yield f"{name}: reading takes {peak >> 20} MiB, more than {allowed >> 20} MiB for a file of that size"


def unsound(profile: Profile) -> Iterator[str]:
    """A sentence for each thing that no profile may say, whatever it was read from."""
    if profile.source != _NAME:
        yield f"source is {profile.source!r}, not the name that was given to read()"
    if profile.display not in ("hitm", "peer"):
        yield f"display is {profile.display!r}, neither hitm nor peer"
    if not profile.lines:
        yield "there is no line; a ProfileError has to say why"
    if printable_profile(profile) != profile:
        yield "a string has a character that is not for showing (linesmith.plugins.printable)"
    if any(count < 0 for _, count in (*profile.totals, *(profile.sampling.outcomes if profile.sampling else ()))):
        yield "a total is negative"
    for line in profile.lines:
        yield from (f"line {line.rank}: {words}" for words in _unsound_line(line))


def _unsound_line(line: CacheLine) -> Iterator[str]:
    if line.bytes not in _LINE_SIZES:
        yield f"{line.bytes} bytes are no size of a line"
    elif line.address is not None and not (0 <= line.address < 1 << 64 and line.address % 64 == 0):
        yield f"{line.address:#x} is no address of a line"
    if line.share is not None and line.share < 0:
        yield f"a share of {line.share}"
    for name in _COUNTS:
        whole = getattr(line, name)
        parts = [getattr(access, name) or 0 for access in line.accesses]
        if whole is not None and (whole < 0 or sum(parts) > whole + len(parts)):
            yield f"{name} of the rows add up to {sum(parts)}, that of the line is {whole}"
    for access in line.accesses:
        if access.offset is not None and not 0 <= access.offset < line.bytes:
            yield f"offset {access.offset} lies outside"
        values = ((name, getattr(access, name)) for name in _COUNTS_OF_ROWS)
        yield from (f"{name} is {value}" for name, value in values if value is not None and value < 0)
        if sum(one.contended for one in access.by_cpu) > access.contended:
            yield f"more contended samples by CPU than the row at offset {access.offset} has"


def _hostile(source: ProfileSource, example: Example) -> Iterator[str]:
    """Damaged examples are read to sound profiles, or refused in one sentence."""
    with tempfile.TemporaryDirectory(prefix="linesmith-") as folder:
        path = Path(folder) / "damaged"
        for words, data in damaged(example.path.read_bytes()):
            path.write_bytes(data)
            yield from (f"{example.path.name}, {words}: {breach}" for breach in _attempt(source, path))


def damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The same damage each time, by what was done: cut off, bytes changed, unfit characters put in."""
    chance = random.Random(len(data))  # noqa: S311 - the same each time
    for part in range(_CUTS):
        at = len(data) * part // _CUTS
        yield f"cut off after {at} bytes", data[:at]
    for _ in range(_CUTS):
        copy = bytearray(data)
        for _ in range(8):
            copy[chance.randrange(len(copy))] = chance.randrange(256)
        yield "with eight bytes changed", bytes(copy)
    for words, put in _PUT_IN.items():
        copy = bytearray(data)
        for at in sorted((chance.randrange(len(copy)) for _ in range(8)), reverse=True):
            copy[at:at] = put
        yield f"with {words} put in", bytes(copy)


def _attempt(source: ProfileSource, path: Path) -> Iterator[str]:
    """What is unsound in the profiles, or keeps a refusal from being one readable sentence that names the file."""
    try:
        profiles = source.read(path, _NAME)
    except LinesmithError as error:
        message = str(error)
        if _NAME not in message:
            yield f"the refusal does not name the file: {message!r}"
        if printable(message) != message:
            yield f"the refusal is not one line of printable characters: {message!r}"
        if not 0 < len(message) <= _LONGEST_MESSAGE:
            yield f"the refusal has {len(message)} characters"
    except Exception as error:
        yield f"read() raises {type(error).__name__}: {error}, which is no LinesmithError"
    else:
        for profile in profiles:
            yield from unsound(profile)
