# SPDX-License-Identifier: GPL-2.0-or-later
"""Who touches what, how often and from where: samples are drawn from it, so that the truth about them is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from perf_data.hardware import Hardware, Served
from perf_data.records import Mode
from perf_data.samples import SAMPLE, Samples

# Mean latencies in cycles; loads that PEBS samples take 30 at least.
_CYCLES: Mapping[Served, int] = dict(zip(Served, (34, 36, 70, 130, 380, 300, 250, 420, 20, 90), strict=True))
STORES = (Served.STORE_HIT, Served.STORE_MISS)
_SERVED = tuple(Served)


@dataclass(frozen=True, slots=True)
class Place:
    """A byte of memory as it ran."""

    address: int
    physical: int

    def plus(self, offset: int) -> Place:
        return Place(self.address + offset, self.physical + offset)


@dataclass(frozen=True, slots=True)
class Task:
    pid: int
    tid: int
    name: str


@dataclass(frozen=True, slots=True)
class Touch:
    """One member of some objects, as instructions of one function touch it.

    ``share`` is relative to the other touches. Of ``places``, one for each object, the first are the hottest if
    ``skewed``. ``served`` are relative too. ``owner`` says that a place is touched by one thread on one CPU alone: by
    those of its number.
    """

    function: str
    instructions: tuple[int, ...]
    places: tuple[Place, ...]
    share: float
    served: Mapping[Served, float]
    cpus: tuple[int, ...]
    tasks: tuple[Task, ...]
    atomic: bool = False
    skewed: bool = True
    owner: bool = False
    mode: Mode = Mode.KERNEL


@dataclass(frozen=True, slots=True)
class Drawn:
    """Samples with what they were drawn from: the numbers of the touch, the place, and how it was served."""

    samples: Samples
    touch: NDArray[np.uint16]
    place: NDArray[np.uint32]
    served: NDArray[np.uint8]


def draw(touches: Sequence[Touch], count: int, hardware: Hardware, seed: int = 1, seconds: float = 10.0) -> Drawn:
    """Samples of all touches, by time; the same seed gives the same samples."""
    random = np.random.default_rng(seed)
    shares = np.array([one.share for one in touches])
    found = Drawn(
        np.zeros(count, dtype=SAMPLE),
        random.choice(len(touches), count, p=shares / shares.sum()).astype(np.uint16),
        np.zeros(count, dtype=np.uint32),
        np.zeros(count, dtype=np.uint8),
    )
    order = np.argsort(found.touch, kind="stable")
    bounds = np.searchsorted(found.touch[order], np.arange(len(touches) + 1))
    for number, touch in enumerate(touches):
        _fill(found, order[bounds[number] : bounds[number + 1]], touch, hardware, random)
    begin, span = 1_000_000_000, int(seconds * 1e9)
    found.samples["time"] = begin + np.sort(random.integers(0, span, count)).astype(np.uint64)
    return found


def _fill(found: Drawn, rows: NDArray[np.intp], touch: Touch, hardware: Hardware, random: np.random.Generator) -> None:
    """What the samples ``rows`` of one touch are."""
    count = len(rows)
    place = _places(touch, count, random)
    cpu = place % len(touch.cpus) if touch.owner else random.integers(0, len(touch.cpus), count)
    served = random.choice([_SERVED.index(one) for one in touch.served], count, p=_shares(touch.served.values()))
    task = place % len(touch.tasks) if touch.owner else random.integers(0, len(touch.tasks), count)
    columns = {
        "ip": _chosen(touch.instructions, random.integers(0, len(touch.instructions), count)),
        "addr": _chosen([one.address for one in touch.places], place),
        "phys": _chosen([one.physical for one in touch.places], place),
        "cpu": _chosen(touch.cpus, cpu),
        "pid": _chosen([one.pid for one in touch.tasks], task),
        "tid": _chosen([one.tid for one in touch.tasks], task),
        "mode": touch.mode,
        "period": 1009,
        **_told(served, touch.atomic, hardware, random),
    }
    for name, values in columns.items():
        found.samples[name][rows] = values
    found.place[rows], found.served[rows] = place, served


def _told(
    served: NDArray[np.int64], atomic: bool, hardware: Hardware, random: np.random.Generator
) -> dict[str, NDArray[np.generic]]:
    """What the hardware tells: its word for how it was served, and how long that took."""
    sources = np.array([hardware.source(one, atomic) for one in _SERVED], dtype=np.uint64)
    timed = np.array([0 if one in hardware.untimed else _CYCLES[one] for one in _SERVED])[served]
    events = np.array([hardware.events.index(hardware.stores if one in STORES else hardware.loads) for one in _SERVED])
    weight = (timed * random.uniform(0.9, 1.8, len(served))).astype(np.uint32)
    return {
        "source": sources[served],
        "weight": weight,
        "later": weight + np.uint32(9) * (timed > 0),
        "event": events[served],
    }


def _places(touch: Touch, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    number = len(touch.places)
    if not touch.skewed:
        return random.integers(0, number, count)
    weight = 1.0 / np.sqrt(np.arange(1, number + 1))
    return random.choice(number, count, p=weight / weight.sum())


def _shares(values: Iterable[float]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.array(list(values), dtype=np.float64)
    total: float = found.sum()
    return found / total


def _chosen(values: Sequence[int], index: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.array(values, dtype=np.uint64)[index]
