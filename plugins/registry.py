# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds plugins by entry point group and name, and reads a profile with the source that knows it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Profile
from linesmith.plugins.api import ProfileSource
from linesmith.plugins.text import decode

_HEAD_CHARACTERS = 64 * 1024


def profile_sources() -> tuple[ProfileSource, ...]:
    """Every installed profile reader, by name (entry point group ``linesmith.profiles``).

    Raises ``ProfileError`` when an installed reader cannot be loaded, with its name and distribution.
    """
    found = sorted(entry_points(group="linesmith.profiles"), key=lambda point: point.name)
    return tuple(_loaded(point) for point in found)


def read_profiles(path: Path) -> tuple[Profile, ...]:
    """Every report in the file at ``path``; raises ``ProfileError`` when it cannot be read or holds none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProfileError(f"cannot read the profile {path}: {error.strerror or error}") from error
    return profiles_in(data, str(path))


def profiles_in(data: bytes, name: str) -> tuple[Profile, ...]:
    """Every report in ``data``; ``name`` stands for it in messages. Raises ``ProfileError``."""
    text = decode(data, name)
    sources = profile_sources()
    for source in sources:
        if any(source.recognises(head) for head in _heads(text)):
            return source.read(text, name)
    if not text.strip():
        raise ProfileError(f"{name} is empty; save the output of `perf c2c report --stdio` into it")
    known = ", ".join(source.name for source in sources) or "none"
    raise ProfileError(
        f"{name} is no profile that an installed reader knows ({known}); give the text of `perf c2c report --stdio`"
    )


def _heads(text: str) -> Iterator[str]:
    """Overlapping parts of the text: a long mail may hold its report far from the beginning."""
    step = _HEAD_CHARACTERS // 2
    for start in range(0, max(len(text), 1), step):
        yield text[start : start + _HEAD_CHARACTERS]


def _loaded(point: EntryPoint) -> ProfileSource:
    """The reader behind an entry point; whatever a foreign plugin raises becomes one sentence."""
    try:
        source: ProfileSource = point.load()()
    except Exception as error:
        owner = f" of {point.dist.name}" if point.dist else ""
        raise ProfileError(
            f"the profile reader {point.name}{owner} cannot be loaded ({type(error).__name__}: {error});"
            " reinstall or remove that package"
        ) from error
    return source
