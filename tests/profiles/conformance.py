# SPDX-License-Identifier: GPL-2.0-or-later
"""What every source of profiles has to keep, checked on an example: ``assert not list(breaches(source, example))``."""

from __future__ import annotations

import random
import tempfile
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.model import CacheLine, Profile
from linesmith.plugins.api import ProfileSource, printable

_HEAD_BYTES = 64 << 10
_NAME = "example.profile"
_CUTS = 12
# What Python's own objects take of a text that is read as words, and a constant for what a source loads first.
_MEMORY_PER_BYTE, _MEMORY = 64, 64 << 20
_COUNTS = (
    "hitm_remote", "hitm_local", "peer_remote", "peer_local", "stores_l1_hit", "stores_l1_miss", "stores_na", "taken",
)  # fmt: skip
_COUNTS_OF_ROWS = (*_COUNTS, "records", "cpus", "cycles_remote", "cycles_local", "cycles_load", "code_address", "width")
# What no source may take for its own: other files that people give by mistake.
_FOREIGN = {
    "an empty file": b"",
    "a text": b"The quick brown fox jumps over the lazy dog.\n" * 20,
    "source code": b"int main(void)\n{\n\treturn 0; /* 100.00% */\n}\n",
    "JSON": b'{"lines": [], "version": 1}\n',
    "a web page": b"<html><body><h1>404</h1><p>Not found</p></body></html>\n",
    "an ELF file": b"\x7fELF\x02\x01\x01" + bytes(57),
    "a compressed file": b"\x1f\x8b\x08\x00" + bytes(range(256)),
    "zeros": bytes(4096),
    "random bytes": random.Random(0).randbytes(4096),  # noqa: S311 - the same each time
}
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


def breaches(source: ProfileSource, example: Example, foreign: Iterable[Path] = ()) -> Iterator[str]:
    """A sentence for each rule that ``source`` breaks; ``foreign`` are files that other sources read."""
    if not source.recognises(_head(example.path)):
        yield "the example is not recognised"
    heads = {**_FOREIGN, **{path.name: _head(path) for path in foreign}}
    yield from (f"{name} is recognised" for name, head in heads.items() if source.recognises(head))
    tracemalloc.start()
    profiles = source.read(example.path, _NAME)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if peak > _MEMORY + _MEMORY_PER_BYTE * example.path.stat().st_size:
        yield f"reading takes {peak >> 20} MiB"
    for profile in profiles:
        yield from _unsound(profile)
        if example.samples is not None and (not profile.sampling or profile.sampling.samples != example.samples):
            yield "the outcomes do not add up to the samples"
    with tempfile.TemporaryDirectory(prefix="linesmith-") as folder:
        path = Path(folder) / "damaged"
        for words, data in _damaged(example.path.read_bytes()):
            path.write_bytes(data)
            yield from (f"{words}: {breach}" for breach in _attempt(source, path))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _unsound(profile: Profile) -> Iterator[str]:
    """A sentence for each thing that no profile may say, whatever it was read from."""
    if profile.source != _NAME:
        yield f"source is {profile.source!r}, not the name that was given to read()"
    if profile.display not in ("hitm", "peer"):
        yield f"display is {profile.display!r}, neither hitm nor peer"
    if not profile.lines:
        yield "there is no line; a ProfileError has to say why"
    for line in profile.lines:
        yield from (f"line {line.rank}: {words}" for words in _unsound_line(line))


def _unsound_line(line: CacheLine) -> Iterator[str]:
    if line.bytes not in (64, 128, 256):
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


def _damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
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
        for profile in source.read(path, _NAME):
            yield from _unsound(profile)
    except LinesmithError as error:
        message = str(error)
        if _NAME not in message or printable(message) != message or len(message) > 1000:
            yield f"the refusal is not one line that names the file: {message!r}"
