# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples as columns, and as the bytes of a perf.data stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from perf_data.records import STACK_BYTES, Event, Field, Kind, finished_round

# ``weight`` is the latency in cycles, ``later`` the second one of WEIGHT_STRUCT; ``chain`` counts from 1 (0: none).
SAMPLE = np.dtype(
    [(name, "<u8") for name in ("time", "ip", "addr", "phys", "source", "period")]
    + [(name, "<u4") for name in ("pid", "tid", "cpu", "weight", "chain")]
    + [("later", "<u2"), ("event", "u1"), ("mode", "u1")]
)
# What fields hold that are of no use for memory samples: two branches, two registers (of a 64-bit program), a stack.
_ORDINARY = {
    "raw_size": 12, "raw": b"0123456789ab", "branches": 2, "branch": 0xFFFF_FFFF_9E00_4000, "user_abi": 2,
    "user_registers": 0x7FFF_0000_1000, "stack_size": STACK_BYTES, "stack": b"0123456789abcdef", "stack_used": 8,
    "transaction": 1 << 32, "abi": 2, "registers": 77, "cgroup": 9, "page": 4096, "code_page": 4096,
}  # fmt: skip
Samples = NDArray[np.void]
Chain = tuple[int, ...]
HERE = 0  # a frame that is the sampled instruction itself
ROUND = 20_000  # samples between two FINISHED_ROUND


def identifier(event: int, cpu: int | NDArray[np.uint32]) -> int | NDArray[np.uint64]:
    return (event + 1) * 4096 + (cpu if isinstance(cpu, int) else cpu.astype(np.uint64))


def stream(samples: Samples, events: Sequence[Event], chains: Sequence[Chain] = ()) -> Iterator[bytes]:
    """The records in rounds; within one they are by CPU, as ring buffers are read."""
    in_time = samples[np.argsort(samples["time"], kind="stable")]
    for begin in range(0, len(in_time), ROUND):
        part = in_time[begin : begin + ROUND]
        yield _encoded(part[np.argsort(part["cpu"], kind="stable")], events, chains)
        yield finished_round()


def _encoded(samples: Samples, events: Sequence[Event], chains: Sequence[Chain]) -> bytes:
    depth = np.array([0, *map(len, chains)], dtype=np.uint32)[samples["chain"]]
    groups = [
        (np.flatnonzero((samples["event"] == event) & (depth == length)), event, int(length))
        for event in np.unique(samples["event"])
        for length in np.unique(depth[samples["event"] == event])
    ]
    rows = [
        (index, _rows(samples[index], int(event), events[event], length, chains)) for index, event, length in groups
    ]
    size = np.zeros(len(samples), dtype=np.int64)
    for index, group in rows:
        size[index] = group.shape[1]
    start = np.cumsum(size) - size
    found = np.empty(int(size.sum()), dtype=np.uint8)
    for index, group in rows:
        found[start[index][:, None] + np.arange(group.shape[1])] = group
    return found.tobytes()


def _rows(samples: Samples, number: int, event: Event, depth: int, chains: Sequence[Chain]) -> NDArray[np.uint8]:
    """Samples of one event and depth of callchains: one row of bytes each."""
    layout = _layout(event.fields, depth)
    found = np.zeros(len(samples), dtype=layout)
    found["kind"], found["misc"], found["size"] = Kind.SAMPLE, samples["mode"], layout.itemsize
    for name in {"id", "own_id", "stream", "read_id"} & set(layout.names or ()):
        found[name] = identifier(number, samples["cpu"])
    if "read_value" in (layout.names or ()):
        found["read_value"] = samples["time"]  # a counter that stood still would make perf leave the sample out
    for name, value in _ORDINARY.items():
        if name in (layout.names or ()):
            found[name] = value
    for name in ("ip", "pid", "tid", "time", "addr", "cpu", "period", "weight", "later", "source", "phys"):
        if name in (layout.names or ()):
            found[name] = samples[name]
    if Field.CALLCHAIN in event.fields:
        found["depth"] = depth
        if depth:
            table = {number: chain for number, chain in enumerate(chains, 1) if len(chain) == depth}
            for chain in np.unique(samples["chain"]):
                found["frames"][samples["chain"] == chain] = table[int(chain)]
            found["frames"] = np.where(found["frames"] == HERE, samples["ip"][:, None], found["frames"])
    return found.view(np.uint8).reshape(len(samples), layout.itemsize)


# The fields of a sample in the order that the kernel writes them, with their columns; D is the depth of its callchain.
_COLUMNS = """
    IDENTIFIER id:<u8 | IP ip:<u8 | TID pid:<u4 tid:<u4 | TIME time:<u8 | ADDR addr:<u8 | ID own_id:<u8
    | STREAM_ID stream:<u8 | CPU cpu:<u4 reserved:<u4 | PERIOD period:<u8 | READ read_value:<u8 read_id:<u8
    | CALLCHAIN depth:<u8 frames:(D,)<u8 | RAW raw_size:<u4 raw:S12 | BRANCH_STACK branches:<u8 branch:(6,)<u8
    | REGS_USER user_abi:<u8 user_registers:(2,)<u8 | STACK_USER stack_size:<u8 stack:S16 stack_used:<u8
    | WEIGHT weight:<u8 | WEIGHT_STRUCT weight:<u4 later:<u2 latest:<u2 | DATA_SRC source:<u8
    | TRANSACTION transaction:<u8 | REGS_INTR abi:<u8 registers:(2,)<u8 | PHYS_ADDR phys:<u8 | CGROUP cgroup:<u8
    | DATA_PAGE_SIZE page:<u8 | CODE_PAGE_SIZE code_page:<u8
"""


def _layout(fields: Field, depth: int) -> np.dtype[np.void]:
    wanted = [("kind", "<u4"), ("misc", "<u2"), ("size", "<u2")]
    for field, *columns in (one.split() for one in _COLUMNS.replace("(D,)", f"({depth},)").split("|")):
        if Field[field] in fields:
            wanted += [(name, form) for name, form in (column.split(":") for column in columns)]
    return np.dtype(wanted)
