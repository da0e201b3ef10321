# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles in linesmith's own format, made to be read back: JSON (version 1), or Parquet (version 2) by the name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from importlib import import_module
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from linesmith.analyzer.base.errors import ProfileError, ToolMissing, install_command
from linesmith.analyzer.model import Access, CacheLine, Conflict, CpuCounts, Profile
from linesmith.plugins.profiles.formats import PARQUET_MAGIC
from linesmith.plugins.text import printable_profile, read_text

VERSION = 1
PARQUET = ".parquet"
_LINE_SIZES = (64, 128, 256)
_LIMIT = 1 << 64


def terse(value: object) -> object:
    """Dataclasses as dictionaries without fields at their defaults: half the size."""
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: terse(item) for name, item, default in found if default is MISSING or item != default}
    return [terse(item) for item in value] if isinstance(value, tuple) else value


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
    """The one profile of the file.

    Raises ``ProfileError`` when it is damaged or of another version, ``ToolMissing`` without pyarrow.
    """
    begin = b""
    with suppress(OSError), path.open("rb") as file:
        begin = file.read(len(PARQUET_MAGIC))
    profile = _from_parquet(path, source) if begin == PARQUET_MAGIC else _from_json(path, source)
    if any(line.bytes not in _LINE_SIZES for line in profile.lines):
        raise ProfileError(f"{source} has a line that is not of 64, 128 or 256 bytes; record it again")
    if not _is_plausible(profile):
        raise ProfileError(f"{source} has a count below 0 or above 64 bits; record it again")
    areas = profile.areas
    if not all(min(one.size, one.stride, one.count) > 0 <= one.address < one.end <= _LIMIT for one in areas):
        raise ProfileError(f"{source} has an object of no size or beyond all addresses; record it again")
    return (printable_profile(replace(profile, source=source)),)


def encode(profile: Profile) -> bytes:
    """The document for a profile, one line of UTF-8 JSON with a newline; fields at their defaults are left out."""
    return msgspec.json.encode({"linesmith-profile": VERSION, "profile": terse(profile)}) + b"\n"


def encode_for(profile: Profile, name: Path) -> bytes:
    """What a file of that name shall hold: Parquet if it ends in ``.parquet``, JSON otherwise.

    Raises ``ToolMissing`` without pyarrow, ``ProfileError`` for counts that 64 bits do not hold.
    """
    if name.suffix != PARQUET:
        return encode(profile)
    parquet = _parquet()
    try:
        data: bytes = parquet.encode_parquet(profile)
    except (OverflowError, *parquet.DAMAGE) as error:
        message = f"{name} cannot hold this profile ({_sentence(error)}); name one without {PARQUET}"
        raise ProfileError(message) from error
    return data


def can_hold(name: Path) -> None:
    """Raises ``ToolMissing`` when a file of that name could not be written for want of pyarrow."""
    if name.suffix == PARQUET:
        _parquet()


def _parquet() -> ModuleType:
    try:
        return import_module("linesmith.plugins.profiles.parquet")
    except ImportError as error:
        message = f"profiles in Parquet need pyarrow, which is not installed; run: {install_command('parquet')}"
        raise ToolMissing(message) from error


def _from_json(path: Path, source: str) -> Profile:
    data = read_text(path, source).encode()
    try:
        version = msgspec.json.decode(data, type=_ProfileHead).version
        if version != VERSION:
            raise ProfileError(_other_version(source, str(version)))
        return msgspec.json.decode(data, type=_ProfileDocument).profile
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ProfileError(_damaged(source, error)) from error


def _from_parquet(path: Path, source: str) -> Profile:
    parquet = _parquet()
    try:
        profile: Profile = parquet.decode_parquet(path)
    except parquet.OtherVersion as error:
        raise ProfileError(_other_version(source, str(error.version))) from error
    except parquet.NoProfile as error:
        raise ProfileError(f"{source} is a Parquet file, but no profile of linesmith; give another file") from error
    except (*parquet.DAMAGE, RecursionError) as error:
        raise ProfileError(_damaged(source, error)) from error
    return profile


def _damaged(source: str, error: BaseException) -> str:
    return f"{source} is a damaged profile of linesmith ({_sentence(error)}); record it again"


def _sentence(error: BaseException) -> str:
    """The first line of what a library has to say, without its full stop and what a terminal would obey."""
    said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(". ")
    return "".join(letter if letter.isprintable() else "?" for letter in said)


def _other_version(source: str, version: str) -> str:
    return (
        f"{source} is a profile of linesmith in version {version}, but this linesmith reads version {VERSION} (JSON) "
        "and 2 (Parquet); record it again, or use the linesmith that wrote it"
    )
