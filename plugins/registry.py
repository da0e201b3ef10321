# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds plugins by entry point group and name, and reads a profile with the source that knows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from linesmith.analyzer.errors import (
    BenchmarkUnknown,
    LinesmithError,
    NotRecorded,
    PlanError,
    ProfileError,
    SnapshotError,
)
from linesmith.analyzer.model import Profile
from linesmith.plugins.api import (
    Benchmark,
    Builder,
    Executor,
    Machine,
    Optimizer,
    ProfileSource,
    Recorder,
    SnapshotSource,
)
from linesmith.plugins.text import decode

_HEAD_CHARACTERS = 64 * 1024
# Reports of whole machines have some megabytes.
_MOST_BYTES = 256 << 20


def profile_sources() -> tuple[ProfileSource, ...]:
    """Every profile reader that works, by name (entry point group ``linesmith.profiles``)."""
    return tuple(source for source in map(_loaded, _entry_points()) if not isinstance(source, str))


def broken_sources() -> tuple[str, ...]:
    """A sentence for every installed profile reader that cannot be loaded: its name, its package, and why."""
    return tuple(source for source in map(_loaded, _entry_points()) if isinstance(source, str))


def snapshot_source(name: str) -> SnapshotSource:
    """The reader of a kernel's memory called ``name`` (entry point group ``linesmith.snapshots``).

    Raises ``SnapshotError`` when none of that name is installed or it cannot be loaded.
    """
    source = _called(name, "linesmith.snapshots", "reader of memory", SnapshotError)
    if not isinstance(source, SnapshotSource):
        raise SnapshotError(f"the plugin {name} is no reader of memory; reinstall or remove its package")
    return source


def recorder(name: str) -> Recorder:
    """The recorder called ``name`` (entry point group ``linesmith.recorders``); raises ``NotRecorded``."""
    found = _called(name, "linesmith.recorders", "recorder", NotRecorded)
    if not isinstance(found, Recorder):
        raise NotRecorded(f"the plugin {name} is no recorder; reinstall or remove its package")
    return found


def builder(name: str) -> Builder:
    """The builder called ``name`` (entry point group ``linesmith.builders``); raises ``PlanError``."""
    found = _called(name, "linesmith.builders", "builder", PlanError)
    if not isinstance(found, Builder):
        raise PlanError(f"the plugin {name} is no builder; reinstall or remove its package")
    return found


def machine(name: str) -> Machine:
    """The machine called ``name`` (entry point group ``linesmith.machines``); raises ``PlanError``."""
    found = _called(name, "linesmith.machines", "machine", PlanError)
    if not isinstance(found, Machine):
        raise PlanError(f"the plugin {name} is no machine; reinstall or remove its package")
    return found


def benchmark(name: str) -> Benchmark:
    """The benchmark called ``name`` (entry point group ``linesmith.benchmarks``); raises ``BenchmarkUnknown``."""
    found = _called(name, "linesmith.benchmarks", "benchmark", BenchmarkUnknown)
    if not isinstance(found, Benchmark):
        raise BenchmarkUnknown(f"the plugin {name} is no benchmark; reinstall or remove its package")
    return found


def optimizer(name: str) -> Optimizer:
    """The optimizer called ``name`` (entry point group ``linesmith.optimizers``); raises ``PlanError``."""
    found = _called(name, "linesmith.optimizers", "optimizer", PlanError)
    if not isinstance(found, Optimizer):
        raise PlanError(f"the plugin {name} is no optimizer; reinstall or remove its package")
    return found


def executor(name: str) -> Executor:
    """The executor called ``name`` (entry point group ``linesmith.executors``); raises ``PlanError``."""
    found = _called(name, "linesmith.executors", "executor", PlanError)
    if not isinstance(found, Executor):
        raise PlanError(f"the plugin {name} is no executor; reinstall or remove its package")
    return found


def _called(name: str, group: str, kind: str, failure: type[LinesmithError]) -> object:
    """What the entry point ``name`` of ``group`` makes: foreign plugins may raise anything."""
    points = entry_points(group=group)
    if name not in points.names:
        known = ", ".join(sorted(points.names)) or "none"
        raise failure(f"no {kind} is called {name} (installed: {known}); name one of those or reinstall linesmith")
    try:
        return points[name].load()()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise failure(f"the {kind} {name} cannot be loaded ({reason}); reinstall or remove its package") from error


def read_profiles(path: Path) -> tuple[Profile, ...]:
    """Every report in the file at ``path``; raises ``ProfileError`` when it cannot be read or holds none."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ProfileError(f"cannot read the profile {path}: {error.strerror or error}") from error
    if len(data) > _MOST_BYTES:
        raise ProfileError(
            f"{path} is larger than {_MOST_BYTES >> 20} MiB, too large for a report; "
            "give the text of `perf c2c report --stdio`"
        )
    # The name is shown and written as JSON, so bytes that are no UTF-8 are spelt out.
    return profiles_in(data, os.fsencode(path).decode("utf-8", "backslashreplace"))


def profiles_in(data: bytes, name: str) -> tuple[Profile, ...]:
    """Every report in ``data``; ``name`` stands for it in messages. Raises ``ProfileError``."""
    text = decode(data, name)
    sources = profile_sources()
    for head in _heads(text):
        for source in sources:
            if source.recognises(head):
                return source.read(text, name)
    if not text.strip():
        raise ProfileError(f"{name} is empty; save the output of `perf c2c report --stdio` into it")
    known = ", ".join(source.name for source in sources) or "none"
    broken = "".join(f"; {sentence}" for sentence in broken_sources())
    raise ProfileError(
        f"{name} is no profile that an installed reader knows ({known}); give the text of `perf c2c report --stdio`"
        f"{broken}"
    )


def _heads(text: str) -> Iterator[str]:
    """Overlapping parts of the text: a long mail may hold its report far from the beginning."""
    step = _HEAD_CHARACTERS // 2
    for start in range(0, max(len(text), 1), step):
        yield text[start : start + _HEAD_CHARACTERS]


def _entry_points() -> list[EntryPoint]:
    return sorted(entry_points(group="linesmith.profiles"), key=lambda point: point.name)


def _loaded(point: EntryPoint) -> ProfileSource | str:
    """The reader behind an entry point, or a sentence: foreign plugins may raise anything."""
    try:
        source = point.load()()
        if not isinstance(source, ProfileSource):
            raise TypeError(f"{point.value} is no profile reader")
    except Exception as error:
        owner = f" of {point.dist.name}" if point.dist else ""
        reason = f"{type(error).__name__}: {error}"
        return f"the profile reader {point.name}{owner} cannot be loaded ({reason}); reinstall or remove that package"
    return source
