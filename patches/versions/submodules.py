# SPDX-License-Identifier: GPL-2.0-or-later
"""Repositories that are checked out within another one: what differs in them where it names other commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import TreeError
from linesmith.patches.versions.git import Difference, Entry, Git
from linesmith.patches.versions.paths import kept_inside


@dataclass(frozen=True, slots=True)
class Submodule:
    """What differs in a ``repository`` within another one, with the paths that files have there."""

    repository: Git
    differences: tuple[Difference, ...]


def checked_out(git: Git, path: bytes) -> Git | None:
    """The repository that lies there within the checkout of another one; none that a link leads to."""
    name = kept_inside(path)
    place = git.top / name if name else None
    if place is None or place.resolve() != place or not (place / ".git").exists():
        return None
    return Git(place)


def submodule(git: Git, changed: Difference) -> Submodule | None:
    """What another commit of a submodule changes; ``None`` where one is not at hand, or a file took its place."""
    if not all(side is None or side.is_submodule for side in (changed.old, changed.new)):
        return None
    inner = checked_out(git, changed.path)
    if inner is None:
        return None
    try:
        found = tuple(_differences(inner, changed.old, changed.new))
    except TreeError:  # one of the commits is missing there
        return None
    return Submodule(inner, tuple(_within(changed.path, one) for one in found))


def _differences(inner: Git, old: Entry | None, new: Entry | None) -> Iterator[Difference]:
    if old and new:
        yield from inner.differences(old.blob, new.blob)
    elif new:
        yield from (Difference(None, one) for one in inner.entries(new.blob))
    elif old:
        yield from (Difference(one, None) for one in inner.entries(old.blob))


def _within(folder: bytes, one: Difference) -> Difference:
    sides: Sequence[Entry | None] = [
        side and replace(side, path=folder + b"/" + side.path) for side in (one.old, one.new)
    ]
    return Difference(*sides)
