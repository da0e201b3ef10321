# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds plugins by entry point group and name, and reads a profile with the source that knows it."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, TypeVar

from linesmith.analyzer.base.errors import (
    BenchmarkUnknown,
    LinesmithError,
    NotRecorded,
    PlanError,
    ProfileError,
    SnapshotError,
)
from linesmith.analyzer.model import Profile
from linesmith.plugins import api

# A protocol is given to ask whether a plugin keeps it, not to be called.
# mypy: disable-error-code="type-abstract"


P = TypeVar("P")

_HEAD_BYTES = 64 * 1024


def profile_sources() -> tuple[api.ProfileSource, ...]:
    """Every profile reader that works, by name (entry point group ``linesmith.profiles``)."""
    return tuple(source for source in _loaded_sources() if not isinstance(source, str))


def _loaded_sources() -> list[api.ProfileSource | str]:
    """Every profile reader, or a sentence with its name, its package and why it cannot be loaded."""
    found: list[api.ProfileSource | str] = []
    for point in sorted(entry_points(group="linesmith.profiles"), key=lambda point: point.name):
        try:
            source = point.load()()
            if not isinstance(source, api.ProfileSource):
                raise TypeError(f"{point.value} is not a profile reader")
        except Exception as error:  # foreign plugins may raise anything
            owner = f" of {point.dist.name}" if point.dist else ""
            source = (
                f"the profile reader {point.name}{owner} cannot be loaded ({type(error).__name__}: {error}); "
                "reinstall or remove that package"
            )
        found.append(source)
    return found


@dataclass(frozen=True, slots=True)
class PluginKind(Generic[P]):
    """The plugins of an entry point group; called with a name, it is the one of that name.

    Raises ``failure`` when none of that name is installed, it cannot be loaded, or it is no such plugin.
    """

    protocol: type[P]
    group: str
    title: str
    failure: type[LinesmithError]

    def __call__(self, name: str) -> P:
        """What the entry point ``name`` makes: foreign plugins may raise anything."""
        points = entry_points(group=self.group)
        if name not in points.names:
            known = ", ".join(sorted(points.names)) or "none"
            raise self.failure(
                f"no {self.title} has the name {name} (installed: {known}); name one of those or reinstall linesmith"
            )
        try:
            found = points[name].load()()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise self.failure(
                f"the {self.title} {name} cannot be loaded ({reason}); reinstall or remove its package"
            ) from error
        if not isinstance(found, self.protocol):
            raise self.failure(f"the plugin {name} is not a {self.title}; reinstall or remove its package")
        return found


snapshot_source = PluginKind(api.SnapshotSource, "linesmith.snapshots", "reader of memory", SnapshotError)
recorder = PluginKind(api.Recorder, "linesmith.recorders", "recorder", NotRecorded)
builder = PluginKind(api.Builder, "linesmith.builders", "builder", PlanError)
machine = PluginKind(api.Machine, "linesmith.machines", "machine", PlanError)
benchmark = PluginKind(api.Benchmark, "linesmith.benchmarks", "benchmark", BenchmarkUnknown)
optimizer = PluginKind(api.Optimizer, "linesmith.optimizers", "optimizer", PlanError)
executor = PluginKind(api.Executor, "linesmith.executors", "executor", PlanError)


def read_profiles(path: Path) -> tuple[Profile, ...]:
    """Every report in the file at ``path``; raises ``ProfileError`` when it cannot be read or holds none.

    What comes out of a pipe is in a file as long as it is read.
    """
    # The name is shown and written as JSON, so bytes that are no UTF-8 are spelt out.
    name = api.printable(os.fsencode(path).decode("utf-8", "backslashreplace"))
    looks = gc.isenabled()
    gc.disable()  # no circle is in a profile, and to look for one takes a quarter of the time
    try:
        if path.is_file() or path.is_dir() or not path.exists():
            return _read(path, name)
        with tempfile.NamedTemporaryFile(prefix="linesmith-") as copy:
            copy.write(api.read_bytes(path, name))
            copy.flush()
            return _read(Path(copy.name), name)
    except OSError as error:
        raise ProfileError(f"cannot read the profile {name}: {error.strerror or error}") from error
    finally:
        if looks:
            gc.enable()


def _read(path: Path, name: str) -> tuple[Profile, ...]:
    from linesmith.plugins.profiles.formats import RecordedProfile

    source = _source_of(path, name)
    found = source.read(path, name)
    # To look through all texts of a large profile takes long, and this one reader has; no other is trusted to.
    return found if type(source) is RecordedProfile else tuple(map(api.printable_profile, found))


def _source_of(path: Path, name: str) -> api.ProfileSource:
    """The first source that knows the file. Raises ``ProfileError`` when none does."""
    loaded = _loaded_sources()
    sources = [source for source in loaded if not isinstance(source, str)]
    for head in _heads(path, name):
        for source in sources:
            if source.recognises(head):
                return source
    if not api.read_text(path, name).strip():
        raise ProfileError(f"{name} is empty; {api.ADVICE}")
    known = ", ".join(source.name for source in sources) or "none"
    broken = "".join(f"; {sentence}" for sentence in loaded if isinstance(sentence, str))
    raise ProfileError(f"{name} is not a profile in a known format ({known}); {api.ADVICE}{broken}")


def _heads(path: Path, name: str) -> Iterator[bytes]:
    """Overlapping parts of the file: a long mail may hold its report far from the beginning.

    Raises ``ProfileError`` behind the first part when the file is too large for a text.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        for start in range(0, max(size, 1), _HEAD_BYTES // 2):
            file.seek(start)
            head = file.read(_HEAD_BYTES)
            yield head
            if size > api.MOST_BYTES:
                api.refuse_known(head, name)
                raise ProfileError(api.too_large(name))
