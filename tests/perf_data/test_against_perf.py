# SPDX-License-Identifier: GPL-2.0-or-later
"""perf itself reads every file that the writer writes, and tells what was put in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perf_data import compression
from perf_data.event import EVERY_ODD_FIELD, ODD_FIELDS, Field
from perf_data.hand_made import FIRST, SECOND, TEXT, recording
from perf_data.hardware import ALL, ARM, INTEL, Hardware, Served
from perf_data.more_records import CYCLES, GUESTS, with_more
from perf_data.perfs import PERFS, Line, output, scripted, shared_lines, totals
from perf_data.recording import Form, write
from perf_data.samples import HERE, Samples
from perf_data.scenario import STORES, Drawn

_SERVED = list(Served)
_LAST_FIXED_TYPE = 5  # PERF_TYPE_BREAKPOINT
each_perf = pytest.mark.parametrize("perf", PERFS)
each_hardware = pytest.mark.parametrize("machine", ALL.values(), ids=list(ALL))


def written(folder: Path, machine: Hardware, form: Form = Form.FILE) -> tuple[Path, Drawn]:
    if form is Form.COMPRESSED and not compression.available():
        pytest.skip("libzstd is not installed")
    what, drawn = recording(machine)
    path = folder / "perf.data"
    write(path, what, form)
    return path, drawn


def in_order(samples: Samples) -> Samples:
    return samples[np.argsort(samples["time"], kind="stable")]


@each_perf
@each_hardware
@pytest.mark.parametrize("form", list(Form))
def test_perf_script_tells_every_field_of_every_sample(
    perf: str, machine: Hardware, form: Form, tmp_path: Path
) -> None:
    path, drawn = written(tmp_path, machine, form)

    rows = scripted(perf, path)

    samples = in_order(drawn.samples)
    assert len(rows) == len(samples)
    for name, base in (("addr", 16), ("phys", 16), ("source", 16), ("weight", 10), ("period", 10)):
        assert [int(row[name], base) for row in rows] == samples[name].tolist(), name
    # Of a pipe perf prints no instruction for events of PMUs whose number is given at boot.
    if form is not Form.PIPE or machine.loads.type <= _LAST_FIXED_TYPE:
        assert [int(row["ip"], 16) for row in rows] == samples["ip"].tolist()
    for name in ("pid", "tid", "cpu"):
        assert [int(row[name]) for row in rows] == samples[name].tolist(), name
    assert [int(row["seconds"]) * 10**9 + int(row["nanoseconds"]) for row in rows] == samples["time"].tolist()
    assert [row["event"] for row in rows] == [machine.events[number].name for number in samples["event"]]
    assert {(row["comm"], row["tid"]) for row in rows} == {("reader", "100"), ("writer", "101")}


# What each kind of hardware calls a store that missed L1, when that is not a miss of L1.
_NO_LEVEL = {"arm", "amd", "amd-new"}
_ANOTHER_LEVEL = {"intel-hybrid", "intel-aux"}


def counted(drawn: Drawn, address: int, machine: Hardware) -> Line:
    """What perf must say of a line, counted from what was drawn, in the words of that hardware."""
    here = drawn.samples["addr"] & np.uint64((1 << 64) - 64) == address
    number = {one: int((drawn.served[here] == _SERVED.index(one)).sum()) for one in Served}
    remote, hit, miss = number[Served.MODIFIED_AWAY], number[Served.STORE_HIT], number[Served.STORE_MISS]
    stores, unknown = hit + miss, 0
    if machine is ARM:
        remote, hit, miss, unknown = remote + number[Served.CLEAN_AWAY], 0, 0, stores
    elif machine.name in _NO_LEVEL:
        miss, unknown = 0, miss
    elif machine.name in _ANOTHER_LEVEL:
        miss = 0
    return Line(address, remote, number[Served.MODIFIED_HERE], stores, hit, miss, unknown)


@each_perf
@each_hardware
def test_perf_c2c_counts_on_each_line_what_was_put_there(perf: str, machine: Hardware, tmp_path: Path) -> None:
    path, drawn = written(tmp_path, machine)

    lines = {one.address: one for one in shared_lines(perf, path)}

    assert lines == {address: counted(drawn, address, machine) for address in (FIRST, SECOND)}


@each_perf
@each_hardware
def test_perf_c2c_counts_all_accesses(perf: str, machine: Hardware, tmp_path: Path) -> None:
    path, drawn = written(tmp_path, machine)

    told = totals(perf, path)

    stores = int(np.isin(drawn.served, [_SERVED.index(one) for one in STORES]).sum())
    assert (told["Total records"], told["Store Operations"]) == (2000, stores)
    assert (told["Load Operations"], told["Unable to parse data source"]) == (2000 - stores, 0)


@each_perf
def test_events_without_addresses_guests_and_losses_stand_between_memory_samples(perf: str, tmp_path: Path) -> None:
    what, drawn = recording(INTEL)
    path = tmp_path / "perf.data"
    write(path, with_more(what))

    events = output(perf, "script", "-i", path, "-F", "event").split()
    every = output(perf, "report", "-i", path, "--stdio", "--stats")

    assert events.count("cycles:P:") == CYCLES
    assert f"SAMPLE events: {2000 + CYCLES + GUESTS:>10}" in every
    assert f"LOST events: {1:>10}" in every
    assert len(drawn.samples) == 2000


@each_perf
def test_callchains_begin_with_the_sampled_instruction(perf: str, tmp_path: Path) -> None:
    what, drawn = recording(INTEL)
    events = tuple(replace(one, more=Field.CALLCHAIN) for one in what.events)
    drawn.samples["chain"] = 1 + np.arange(2000) % 2
    chains = ((_KERNEL_FRAMES, HERE, TEXT + 0x5000), (_KERNEL_FRAMES, HERE, TEXT + 0x6000, TEXT + 0x7000))
    path = tmp_path / "perf.data"
    write(path, replace(what, events=events, chains=chains))

    text = output(perf, "script", "-i", path, "-F", "ip")

    found = [[int(frame, 16) for frame in block.split()] for block in text.strip().split("\n\n")]
    samples = in_order(drawn.samples)
    assert found == [
        [int(one["ip"]), *(chains[int(one["chain"]) - 1][2:])] for one in samples[np.argsort(samples["time"])]
    ]


_KERNEL_FRAMES = (1 << 64) - 128


@each_perf
@pytest.mark.parametrize("more", [*ODD_FIELDS, EVERY_ODD_FIELD], ids=lambda one: one.name)
def test_fields_that_say_nothing_of_memory_stand_between_the_others(perf: str, more: Field, tmp_path: Path) -> None:
    what, drawn = recording(INTEL, 200)
    path = tmp_path / "perf.data"
    write(path, replace(what, events=tuple(replace(one, more=more) for one in what.events)))

    rows = scripted(perf, path)

    samples = in_order(drawn.samples)
    for name in ("addr", "source", "ip", "phys"):
        assert [int(row[name], 16) for row in rows] == samples[name].tolist()
    assert [int(row["weight"]) for row in rows] == samples["weight"].tolist()


@each_perf
def test_the_header_tells_the_machine(perf: str, tmp_path: Path) -> None:
    path, _ = written(tmp_path, INTEL)

    text = output(perf, "script", "-i", path, "--header-only", "-I")

    for row in (
        "# hostname : example",
        "# os release : 6.1.0-56-cloud-amd64",
        "# arch : x86_64",
        "# nrcpus online : 16",
        "# cpuid : GenuineIntel,6,85,7",
        "# cmdline : /usr/bin/perf c2c record -a -- sleep 10",
        "# node0 cpu list : 0-7",
        "# node1 cpu list : 8-15",
    ):
        assert row in text
    assert "name = cpu/mem-loads,ldlat=30/P" in text
    assert "# memory nodes (nr 2, block size 0x8000000)" in text


@each_perf
def test_the_build_ids_are_listed(perf: str, tmp_path: Path) -> None:
    path, _ = written(tmp_path, INTEL)

    assert output(perf, "buildid-list", "-i", path).split() == [bytes(range(20)).hex(), "[kernel.kallsyms]"]


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    first = written(tmp_path, INTEL)[0].read_bytes()

    assert written(tmp_path, INTEL)[0].read_bytes() == first
