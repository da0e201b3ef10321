# SPDX-License-Identifier: GPL-2.0-or-later
"""What linesmith reads of a perf.data file is what was drawn for it: each sample once, on its byte, with its CPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from perf_data import compression
from perf_data.event import EVERY_ODD_FIELD, ODD_FIELDS, Field
from perf_data.hand_made import FIRST, SECOND, recording
from perf_data.hardware import ALL, ARM, INTEL, POWER, Hardware, Served
from perf_data.more_records import CYCLES, GUESTS, LOST_RECORDS, LOST_SAMPLES, with_more
from perf_data.recording import Form, write
from perf_data.scenario import STORES, Drawn

from linesmith.analyzer.model import Access, Profile, SampleOutcome, SharedLine
from linesmith.plugins.profiles.perf_data.source import PerfData

_SERVED = list(Served)
_MOST_BYTES = 128  # of a line; nothing else lies beside the two
_STORES = {_SERVED.index(one) for one in STORES}


def read(path: Path) -> Profile:
    (profile,) = PerfData().read(path, path.name)
    return profile


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("machine", ALL.values(), ids=list(ALL))
def test_each_access_has_its_samples(machine: Hardware, form: Form, tmp_path: Path) -> None:
    if form is Form.COMPRESSED and not compression.available():
        pytest.skip("libzstd is not installed")
    what, drawn = recording(machine)
    path = tmp_path / "perf.data"
    write(path, what, form)

    lines = {line.address: line for line in read(path).lines}

    bytes_each = 128 if machine is POWER else 64
    assert set(lines) == {place // bytes_each * bytes_each for place in (FIRST, SECOND)}
    for address, line in lines.items():
        assert line.bytes == bytes_each
        assert _found(line) == _expected(drawn, address or 0)
        contended = _contended(drawn, address or 0, machine)
        assert sum(one.contended for one in line.accesses) == contended


@pytest.mark.parametrize("more", [*ODD_FIELDS, EVERY_ODD_FIELD], ids=lambda one: one.name)
def test_fields_that_say_nothing_of_memory_are_stepped_over(more: Field, tmp_path: Path) -> None:
    what, drawn = recording(INTEL, 500)
    path = tmp_path / "perf.data"
    write(path, replace(what, events=tuple(replace(one, more=more) for one in what.events)))

    for line in read(path).lines:
        assert _found(line) == _expected(drawn, line.address or 0)


def _found(line: SharedLine) -> Counter[tuple[int, int, int, str]]:
    """Samples by offset, instruction, CPU, and whether they load or store."""
    found: Counter[tuple[int, int, int, str]] = Counter()
    for one in line.accesses:
        for by in one.by_cpu:
            found[(*_where(one), by.cpu, "load")] += by.loads
            found[(*_where(one), by.cpu, "store")] += by.stores
    return +found


def _where(access: Access) -> tuple[int, int]:
    return access.offset or 0, access.code_address or 0


def _expected(drawn: Drawn, address: int) -> Counter[tuple[int, int, int, str]]:
    rows = zip(drawn.samples, drawn.served, strict=True)
    return Counter(
        (int(one["addr"]) - address, int(one["ip"]), int(one["cpu"]), "store" if served in _STORES else "load")
        for one, served in rows
        if address <= int(one["addr"]) < address + _MOST_BYTES
    )


def _contended(drawn: Drawn, address: int, machine: Hardware) -> int:
    """Loads of modified lines; SPE tells what came from any other cache."""
    told = {Served.MODIFIED_HERE, Served.MODIFIED_AWAY} | ({Served.CLEAN_AWAY} if machine is ARM else set())
    numbers = {_SERVED.index(one) for one in told}
    rows = zip(drawn.samples["addr"].tolist(), drawn.served.tolist(), strict=True)
    return sum(address <= where < address + _MOST_BYTES and served in numbers for where, served in rows)


def test_every_sample_ends_in_one_outcome(tmp_path: Path) -> None:
    what, drawn = recording(INTEL)
    path = tmp_path / "perf.data"
    write(path, with_more(what))

    sampling = read(path).sampling

    assert sampling is not None
    outcomes = dict(sampling.outcomes)
    shared = sum(sum(_expected(drawn, address).values()) for address in (FIRST, SECOND))
    nowhere = int((drawn.samples["addr"] == 0).sum())
    assert outcomes[SampleOutcome.SHARED_LINE] == shared
    assert outcomes[SampleOutcome.GUEST] == GUESTS
    assert outcomes[SampleOutcome.NO_ADDRESS] + outcomes.get(SampleOutcome.NO_ACCESS, 0) == nowhere + CYCLES
    assert outcomes[SampleOutcome.LOST] == LOST_RECORDS + LOST_SAMPLES
    assert sampling.samples == 2000 + CYCLES + GUESTS + LOST_RECORDS + LOST_SAMPLES


def test_the_header_tells_the_machine_and_the_builds(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    write(path, recording(INTEL)[0])

    sampling = read(path).sampling

    assert sampling is not None
    assert (sampling.release, sampling.machine, sampling.cpus) == ("6.1.0-56-cloud-amd64", "x86_64", 16)
    assert [(one.path, one.build_id) for one in sampling.builds] == [("[kernel.kallsyms]", bytes(range(20)).hex())]
    assert sampling.anchor == ("_text", 0xFFFFFFFF9E000000)
