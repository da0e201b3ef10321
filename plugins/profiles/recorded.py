# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles in linesmith's own format, made to be read back: compressed MessagePack, or JSON by the name.

A compact file is its mark, a byte with the version, and one zlib stream of the profile in MessagePack.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CacheLine, Conflict, CpuCounts, Profile
from linesmith.plugins.profiles.formats import COMPACT_MAGIC
from linesmith.plugins.text import decode, read_bytes

VERSION, COMPACT_VERSION = 1, 4
JSON = ".json"
# What a document may unpack to: the largest that a recorder writes.
_MOST_BYTES = 256 << 20
_LEVEL = 6
_LINE_SIZES = (64, 128, 256)
_LIMIT = 1 << 64
# What msgspec and zlib raise for damaged files.
_DAMAGE = (ValueError, RecursionError, zlib.error)


class _ProfileHead(msgspec.Struct):
    """What a JSON document of any version has."""

    version: int = msgspec.field(name="linesmith-profile")


class _ProfileDocument(_ProfileHead, forbid_unknown_fields=True):
    """The JSON document: its version, then the profile as the model has it."""

    profile: Profile


def encode(profile: Profile) -> bytes:
    """The JSON document for a profile, one line of UTF-8 with a newline; fields at their defaults are left out."""
    return msgspec.json.encode({"linesmith-profile": VERSION, "profile": _terse(profile)}) + b"\n"


def _terse(value: object) -> object:
    """Dataclasses as dictionaries without fields at their defaults: half the size."""
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: _terse(item) for name, item, default in found if default is MISSING or item != default}
    return [_terse(item) for item in value] if isinstance(value, tuple) else value


def encode_for(profile: Profile, name: Path) -> bytes:
    """What a file of that name shall hold: JSON if it ends in ``.json``, the compact form otherwise.

    Raises ``ProfileError`` for a profile that would not be read back.
    """
    if name.suffix == JSON:
        return encode(profile)
    try:
        document = msgspec.msgpack.encode(profile)
    except OverflowError as error:
        raise ProfileError(f"{name} cannot store this profile: {error}; name a file that ends with {JSON}") from error
    if len(document) > _MOST_BYTES:
        raise ProfileError(f"{name} cannot store a profile of more than {_MOST_BYTES >> 20} MiB; record less")
    return COMPACT_MAGIC + bytes((COMPACT_VERSION,)) + zlib.compress(document, _LEVEL)


def read_recorded(path: Path, source: str) -> tuple[Profile, ...]:
    """The one profile of the file; raises ``ProfileError`` when it is damaged or of another version."""
    data = read_bytes(path, source)
    try:
        found = _from_compact(data, source) if data.startswith(COMPACT_MAGIC) else _from_json(data, source)
    except _DAMAGE as error:
        # The first line of what a library has to say, without its full stop and what a terminal would obey.
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        words = "".join(letter if letter.isprintable() else "?" for letter in said)
        raise ProfileError(f"{source} is a damaged profile of linesmith ({words}); record it again") from error
    if not _is_plausible(found):
        raise ProfileError(f"{source} has a count below 0 or above 64 bits; record it again")
    if any(line.bytes not in _LINE_SIZES for line in found.lines):
        raise ProfileError(f"{source} has a line that is not of 64, 128 or 256 bytes; record it again")
    if not all(min(one.size, one.stride, one.count) > 0 <= one.address < one.end <= _LIMIT for one in found.areas):
        raise ProfileError(f"{source} has an object of no size or beyond all addresses; record it again")
    return (replace(found, source=source),)


def _from_compact(data: bytes, source: str) -> Profile:
    begin = len(COMPACT_MAGIC) + 1
    version = int.from_bytes(data[begin - 1 : begin], "little")
    if version != COMPACT_VERSION:
        raise _other_version(source, version)
    unpacking = zlib.decompressobj()
    document = unpacking.decompress(memoryview(data)[begin:], _MOST_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("it is truncated, larger than any recorder makes it, or has data after its end")
    return msgspec.msgpack.decode(document, type=Profile)


def _from_json(data: bytes, source: str) -> Profile:
    text = decode(data, source).encode()
    version = msgspec.json.decode(text, type=_ProfileHead).version
    if version != VERSION:
        raise _other_version(source, version)
    return msgspec.json.decode(text, type=_ProfileDocument).profile


def _other_version(source: str, version: int) -> ProfileError:
    return ProfileError(
        f"{source} is a profile of linesmith in version {version}, but this linesmith reads version {VERSION} (JSON) "
        f"and {COMPACT_VERSION} (compact); record it again, or use the linesmith that wrote it"
    )


def _is_plausible(profile: Profile) -> bool:
    """Whether every share, offset, count and address of the lines lies between 0 and 2^64 - 1."""
    accesses = [access for line in profile.lines for access in line.accesses]
    paths = chain.from_iterable(access.call_paths for access in accesses)
    return (
        all(0 <= (line.share or 0) < _LIMIT for line in profile.lines)
        and _are_numbers(CacheLine, profile.lines)
        and _are_numbers(Access, accesses)
        and all(0 <= number < _LIMIT for path in paths for number in (path.count, *path.returns))
        and _are_numbers(CpuCounts, chain.from_iterable(access.by_cpu for access in accesses))
        and _are_numbers(Conflict, chain.from_iterable(line.conflicts for line in profile.lines))
    )


def _are_numbers(kind: type[Any], records: Iterable[object]) -> bool:
    names = [one.name for one in fields(kind) if one.type in ("int", "int | None")]
    numbers: Callable[[object], tuple[int | None, ...]] = attrgetter(*names)
    found = set(chain.from_iterable(map(numbers, records)))  # most of millions are alike
    return all(0 <= (number or 0) < _LIMIT for number in found)
