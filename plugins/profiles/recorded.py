# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles in linesmith's own format, made to be read back: compact columns, or JSON by the name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CacheLine, Conflict, CpuCounts, Profile
from linesmith.plugins.profiles import compact
from linesmith.plugins.profiles.formats import COMPACT_MAGIC
from linesmith.plugins.text import decode, printable_profile, read_bytes

VERSION = 1
JSON = ".json"
_LINE_SIZES = (64, 128, 256)
_LIMIT = 1 << 64


def _is_plausible(profile: Profile) -> bool:
    """Whether every offset, count and address of the lines lies between 0 and 2^64 - 1."""
    accesses = [access for line in profile.lines for access in line.accesses]
    paths = chain.from_iterable(access.call_paths for access in accesses)
    return (
        _are_numbers(CacheLine, profile.lines)
        and _are_numbers(Access, accesses)
        and all(0 <= number < _LIMIT for path in paths for number in (path.count, *path.returns))
        and _are_numbers(CpuCounts, chain.from_iterable(access.by_cpu for access in accesses))
        and _are_numbers(Conflict, chain.from_iterable(line.conflicts for line in profile.lines))
    )


def _are_numbers(kind: type[Any], records: Iterable[object]) -> bool:
    names = [one.name for one in fields(kind) if one.type in ("int", "int | None")]
    numbers: Callable[[object], tuple[int | None, ...]] = attrgetter(*names)
    return all(0 <= (number or 0) < _LIMIT for one in records for number in numbers(one))


class _ProfileDocument(msgspec.Struct, forbid_unknown_fields=True):
    """The file: its version, then the profile as the model has it."""

    version: int = msgspec.field(name="linesmith-profile")
    profile: Profile


class _ProfileHead(msgspec.Struct):
    """What a file of any version has."""

    version: int = msgspec.field(name="linesmith-profile")


def read_recorded(path: Path, source: str) -> tuple[Profile, ...]:
    """The one profile of the file; raises ``ProfileError`` when it is damaged or of another version."""
    data = read_bytes(path, source)
    try:
        found = compact.decode_compact(data) if data.startswith(COMPACT_MAGIC) else _from_json(data, source)
    except compact.OtherVersion as error:
        raise ProfileError(_other_version(source, error.version)) from error
    except compact.DAMAGE as error:
        # The first line of what a library has to say, without its full stop and what a terminal would obey.
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
        words = "".join(letter if letter.isprintable() else "?" for letter in said)
        raise ProfileError(f"{source} is a damaged profile of linesmith ({words}); record it again") from error
    if any(line.bytes not in _LINE_SIZES for line in found.lines):
        raise ProfileError(f"{source} has a line that is not of 64, 128 or 256 bytes; record it again")
    if not all(min(one.size, one.stride, one.count) > 0 <= one.address < one.end <= _LIMIT for one in found.areas):
        raise ProfileError(f"{source} has an object of no size or beyond all addresses; record it again")
    return (replace(found, source=source),)


def encode(profile: Profile) -> bytes:
    """The JSON document for a profile, one line of UTF-8 with a newline; fields at their defaults are left out."""
    return msgspec.json.encode({"linesmith-profile": VERSION, "profile": compact.terse(profile)}) + b"\n"


def encode_for(profile: Profile, name: Path) -> bytes:
    """What a file of that name shall hold: JSON if it ends in ``.json``, compact columns otherwise.

    Raises ``ProfileError`` for counts that 64 bits do not hold, and for more records than are read back.
    """
    if name.suffix == JSON:
        return encode(profile)
    try:
        return compact.encode_compact(profile)
    except compact.DAMAGE as error:
        raise ProfileError(f"{name} cannot store this profile: {error}; name a file that ends with {JSON}") from error


def _from_json(data: bytes, source: str) -> Profile:
    text = decode(data, source).encode()
    version = msgspec.json.decode(text, type=_ProfileHead).version
    if version != VERSION:
        raise compact.OtherVersion(version)
    profile = msgspec.json.decode(text, type=_ProfileDocument).profile
    if not _is_plausible(profile):
        raise ProfileError(f"{source} has a count below 0 or above 64 bits; record it again")
    return printable_profile(profile)


def _other_version(source: str, version: int) -> str:
    return (
        f"{source} is a profile of linesmith in version {version}, but this linesmith reads version {VERSION} (JSON) "
        f"and {compact.VERSION} (compact); record it again, or use the linesmith that wrote it"
    )
