# SPDX-License-Identifier: GPL-2.0-or-later
"""Who touches what, how often and from where: samples are drawn from it, so that the truth about them is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from perf_data.hardware import Hardware, Served
from perf_data.recording import Computer
from perf_data.records import Mode
from perf_data.samples import SAMPLE, Samples

# Mean latencies in cycles; loads that PEBS samples take 30 at least.
_CYCLES: Mapping[Served, int] = dict(zip(Served, (34, 36, 70, 130, 380, 300, 250, 420, 20, 90), strict=True))
STORES = (Served.STORE_HIT, Served.STORE_MISS)
_SERVED = tuple(Served)


@dataclass(frozen=True, slots=True)
class Place:
    """A byte of memory as it ran: virtual and physical address, and how far into its object."""

    address: int
    physical: int
    into: int = 0

    def plus(self, offset: int) -> Place:
        return Place(self.address + offset, self.physical + offset, self.into + offset)


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
    those of its number. ``member`` is what the truth calls it, ``""`` where it is nothing in particular.
    """

    type: str
    member: str
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
    chains: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Samples with what they were drawn from: the numbers of the touch, the place, and how it was served."""

    samples: Samples
    touch: NDArray[np.uint16]
    place: NDArray[np.uint32]
    served: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class TruthRow:
    """The samples of one touch at one place: what any reader has to come to.

    ``offset`` is how far into its object the place lies; ``cycles`` adds up the latencies.
    """

    type: str
    member: str
    function: str
    offset: int
    address: int
    instructions: tuple[int, ...]
    atomic: bool
    samples: int
    served: Mapping[str, int]
    cpus: tuple[int, ...]
    nodes: tuple[int, ...]
    cycles: int

    def as_json(self) -> dict[str, object]:
        words = {"address": hex(self.address), "instructions": [hex(one) for one in self.instructions]}
        return asdict(self) | words


def draw(
    touches: Sequence[Touch], count: int, hardware: Hardware, seed: int = 1, seconds: float = 10.0, chunk: int = 500_000
) -> Drawn:
    """Samples of all touches, by time; the same seed gives the same samples."""
    random = np.random.default_rng(seed)
    parts = [_part(touches, min(chunk, count - begin), hardware, random) for begin in range(0, count, chunk)]
    together = Drawn(*(np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True)))
    begin, span = 1_000_000_000, int(seconds * 1e9)
    together.samples["time"] = begin + np.sort(random.integers(0, span, count)).astype(np.uint64)
    return together


def _columns(drawn: Drawn) -> tuple[NDArray[np.generic], ...]:
    return (drawn.samples, drawn.touch, drawn.place, drawn.served)


def _part(touches: Sequence[Touch], count: int, hardware: Hardware, random: np.random.Generator) -> Drawn:
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
        "chain": _chosen(touch.chains, random.integers(0, len(touch.chains), count)),
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


def truth(drawn: Drawn, touches: Sequence[Touch], computer: Computer) -> list[TruthRow]:
    """For each touch and place: how many samples of which kind; what any reader has to come to."""
    key = drawn.touch.astype(np.int64) << 32 | drawn.place
    order = np.argsort(key, kind="stable")
    values, begins = np.unique(key[order], return_index=True)
    found = []
    for value, rows in zip(values, np.split(order, begins[1:]), strict=True):
        touch = touches[int(value) >> 32]
        place = touch.places[int(value) & 0xFFFFFFFF]
        found.append(_row(touch, place, drawn, rows, computer))
    return found


def _row(touch: Touch, place: Place, drawn: Drawn, rows: NDArray[np.intp], computer: Computer) -> TruthRow:
    counts = np.bincount(drawn.served[rows], minlength=len(_SERVED))
    served = {one.name: int(number) for one, number in zip(_SERVED, counts, strict=True) if number}
    cpus = tuple(np.unique(drawn.samples["cpu"][rows]).tolist())
    nodes = tuple(sorted({computer.node_of(cpu) for cpu in cpus}))
    cycles = int(drawn.samples["weight"][rows].sum())
    named = touch.type, touch.member, touch.function, place.into, place.address, touch.instructions, touch.atomic
    return TruthRow(*named, len(rows), served, cpus, nodes, cycles)
