# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles that linesmith recorded itself: one JSON document with every count, made to be read back."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path

import msgspec

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import ObjectArea, Profile
from linesmith.plugins.text import head_text, read_text

VERSION = 1
_MARK = '"linesmith-profile"'
_LINE_SIZES = (64, 128, 256)
_ADDRESSES = 1 << 64


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    """The file: its version, then the profile as the model has it."""

    version: int = msgspec.field(name="linesmith-profile")
    profile: Profile


class _Head(msgspec.Struct):
    version: int = msgspec.field(name="linesmith-profile")


class RecordedProfile:
    """Reads what ``linesmith record`` wrote; see ``docs/profiles.md``."""

    name = "linesmith-profile"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as the document does."""
        text = head_text(head)
        return text.lstrip().startswith("{") and _MARK in text[:200]

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the document; raises ``ProfileError`` when it is damaged or of another version."""
        data = read_text(path, source).encode()
        try:
            version = msgspec.json.decode(data, type=_Head).version
            if version != VERSION:
                raise ProfileError(_other_version(source, version))
            profile = msgspec.json.decode(data, type=_Document).profile
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ProfileError(f"{source} is a damaged profile of linesmith ({error}); record it again") from error
        if any(line.bytes not in _LINE_SIZES for line in profile.lines):
            raise ProfileError(f"{source} has a line that is not of 64, 128 or 256 bytes; record it again")
        if not all(map(_is_in_memory, profile.areas)):
            raise ProfileError(f"{source} has an object of no size or beyond all addresses; record it again")
        return (replace(profile, source=source),)


def encode(profile: Profile) -> bytes:
    """The document for a profile, one line of UTF-8 JSON with a newline; fields at their defaults are left out."""
    return msgspec.json.encode({"linesmith-profile": VERSION, "profile": _terse(profile)}) + b"\n"


def _is_in_memory(area: ObjectArea) -> bool:
    return min(area.size, area.stride, area.count) > 0 and 0 <= area.address < area.end <= _ADDRESSES


def _terse(value: object) -> object:
    """Dataclasses as dictionaries without the fields that reading would fill in anyway: half the size."""
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name), one.default) for one in fields(value))
        return {name: _terse(item) for name, item, default in found if default is MISSING or item != default}
    return [_terse(item) for item in value] if isinstance(value, tuple) else value


def _other_version(source: str, version: int) -> str:
    return (
        f"{source} is a profile of linesmith in version {version}, but this linesmith reads version {VERSION}; "
        "record it again, or use the linesmith that wrote it"
    )
