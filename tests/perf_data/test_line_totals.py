# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording is read back as it was drawn, and each of its lines counts as in perf."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perf_data import records
from perf_data.hand_made import FIRST, SECOND, recording, with_more
from perf_data.hardware import ALL, ARM, INTEL, POWER, Hardware, Served
from perf_data.perfs import Line, each_perf, needed, shared_lines
from perf_data.recording import Recording, write, write_pipe
from perf_data.records import EVERY_ODD_FIELD, ODD_FIELDS, Field, Kind, Mapping, Mode
from perf_data.scenario import STORES, Drawn
from profiles.conformance import Example, breaches

from linesmith.analyzer.model import CacheLine, Profile
from linesmith.plugins.profiles.formats import PerfData

each_hardware = pytest.mark.parametrize("machine", ALL.values(), ids=list(ALL))
_SERVED = list(Served)
_MOST_BYTES = 128  # of a line; nothing else lies beside the two
_CODE, _DATA, _ANONYMOUS = 0x55D3_0000_0000, 0x55D3_0010_0000, 0x7F00_0000_0000
_MOVED = 0x1_0000_0000
Counts = Counter[tuple[int, int, int, bool]]


def read(path: Path, what: Recording) -> Profile:
    write(path, what)
    (profile,) = PerfData().read(path, path.name)
    return profile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "perf.data"


def found(line: CacheLine) -> Counts:
    """Samples by offset, instruction, CPU, and whether they store."""
    counts: Counts = Counter()
    for one in line.accesses:
        for by in one.by_cpu:
            where = one.offset or 0, one.code_address or 0, by.cpu
            counts[(*where, False)] += by.loads
            counts[(*where, True)] += by.stores
    return +counts


def drawn_on(drawn: Drawn, address: int) -> list[tuple[int, int, int, Served]]:
    """The same of what was drawn, one by one, with how it was served."""
    columns = (drawn.samples[name].tolist() for name in ("addr", "ip", "cpu"))
    rows = zip(*columns, drawn.served.tolist(), strict=True)
    return [
        (where - address, code, cpu, _SERVED[served])
        for where, code, cpu, served in rows
        if address <= where < address + _MOST_BYTES
    ]


def expected(drawn: Drawn, address: int) -> Counts:
    return Counter((offset, code, cpu, served in STORES) for offset, code, cpu, served in drawn_on(drawn, address))


@each_hardware
def test_each_access_has_its_samples(machine: Hardware, path: Path) -> None:
    what, drawn = recording(machine)
    lines = {line.address or 0: line for line in read(path, what).lines}
    bytes_each = 128 if machine is POWER else 64
    assert set(lines) == {place // bytes_each * bytes_each for place in (FIRST, SECOND)}
    modified = {Served.MODIFIED_HERE, Served.MODIFIED_AWAY}
    if machine is ARM:  # SPE tells what came from any other cache
        modified.add(Served.CLEAN_AWAY)
    for address, line in lines.items():
        assert (line.bytes, found(line)) == (bytes_each, expected(drawn, address))
        contended = [served in modified for *_, served in drawn_on(drawn, address)]
        assert sum(one.contended for one in line.accesses) == sum(contended)


@pytest.mark.parametrize("more", [*ODD_FIELDS, EVERY_ODD_FIELD], ids=lambda one: one.name)
def test_fields_that_say_nothing_of_memory_are_stepped_over(more: Field, path: Path) -> None:
    what, drawn = recording(INTEL, 500)
    events = tuple(replace(one, more=more) for one in what.events)
    for line in read(path, replace(what, events=events)).lines:
        assert found(line) == expected(drawn, line.address or 0)


@pytest.mark.parametrize(
    ("written", "packed"),
    [(write_pipe, None), (write, Kind.COMPRESSED), (write_pipe, Kind.COMPRESSED2)],
    ids=["a pipe", "compressed", "a pipe of padded compressed records"],
)
def test_other_forms_are_read_as_the_file_is(
    written: Callable[[Path, Recording, Kind | None], None], packed: Kind | None, path: Path
) -> None:
    what = with_more(recording(INTEL)[0])
    plain = read(path, what)
    written(path, what, packed)
    assert PerfData().read(path, path.name) == (plain,)
    assert list(breaches(PerfData(), Example(path))) == []


def test_the_header_tells_the_machine_and_the_builds(path: Path) -> None:
    sampling = read(path, recording(INTEL)[0]).sampling
    assert sampling is not None
    assert (sampling.release, sampling.machine, sampling.cpus) == ("6.1.0-56-cloud-amd64", "x86_64", 16)
    assert [(one.path, one.build_id) for one in sampling.builds] == [("[kernel.kallsyms]", bytes(range(20)).hex())]
    assert sampling.anchor == ("_text", 0xFFFFFFFF9E000000)


def counted(line: CacheLine, display: str) -> Line:
    """The line in the words of perf's table."""
    remote, local = (line.peer_remote, line.peer_local) if display == "peer" else (line.hitm_remote, line.hitm_local)
    stores = line.stores_l1_hit or 0, line.stores_l1_miss or 0, line.stores_na or 0
    return Line(line.address or 0, remote or 0, local or 0, sum(stores), *stores)


def by_level(line: Line) -> Line:
    """The line as we count it: perf has no column for stores of other levels than L1."""
    return line._replace(stores_unknown=line.stores - line.stores_hit - line.stores_miss)


@each_perf
@each_hardware
def test_each_line_counts_as_in_perf(perf: str, machine: Hardware, path: Path) -> None:
    profile = read(path, with_more(recording(machine)[0]))
    told = shared_lines(perf, path)
    first, second = profile.lines
    assert first.contended > second.contended, "the costliest comes first"
    lines = [counted(line, profile.display) for line in profile.lines]
    # perf lists the lines of a guest, too, which has other memory at the same addresses.
    if machine is not POWER:
        assert set(lines) <= set(map(by_level, told))
    # Lines of PowerPC have 128 bytes, but here perf takes those of the machine that it runs on.
    else:
        assert {line.address // 128 * 128 for line in told} == {line.address for line in lines}


@each_perf
def test_lines_of_processes_are_parted_as_by_perf(perf: str, path: Path) -> None:
    lines = read(path, two_processes()).lines
    told = [(line.remote, line.local, line.stores) for line in shared_lines(perf, path)]
    assert sorted((one.remote, one.local, one.stores) for one in (counted(line, "hitm") for line in lines)) == sorted(
        told
    )
    # The file's line is one, under its address in the first process; anonymous memory has one for each.
    assert sorted((line.address, line.pid) for line in lines) == [(_DATA, 100), (_ANONYMOUS, 100), (_ANONYMOUS, 200)]


def two_processes() -> Recording:
    """A program twice, the second time mapped elsewhere: both touch its file and anonymous memory at one address."""
    what, drawn = recording(INTEL)
    samples = drawn.samples
    second = np.arange(len(samples)) % 3 == 0
    samples["mode"], samples["pid"] = Mode.USER, np.where(second, 200, 100)
    samples["tid"] = samples["pid"]
    moved = np.where(second, np.uint64(_MOVED), np.uint64(0))
    samples["ip"] = np.uint64(_CODE + 0x40) + moved
    samples["addr"] = np.where(np.arange(len(samples)) % 2, np.uint64(_DATA) + moved, np.uint64(_ANONYMOUS))
    head = b"".join(
        records.comm(pid, pid, "server")
        + Mapping(pid, _CODE + base, 0x1000, 0, "/usr/bin/server", records.EXECUTABLE).record()
        + Mapping(pid, _DATA + base, 0x1000, 0x1000, "/usr/bin/server", records.WRITABLE).record()
        + anonymous(pid)
        for pid, base in ((100, 0), (200, _MOVED))
    )
    return replace(what, samples=samples, head=head, builds=b"")


def anonymous(pid: int) -> bytes:
    """A page of a process's own: device, inode and generation are 0."""
    data = Mapping(pid, _ANONYMOUS, 0x1000, 0, "//anon", records.WRITABLE).record()
    return data[:40] + bytes(24) + data[64:]


@each_hardware
def test_what_perf_prints_of_traces_is_counted_alike(machine: Hardware, path: Path) -> None:
    """A record says that there are traces (of s390, and then there are none), so perf is asked for all samples."""
    needed("perf")
    what = recording(machine)[0]
    ours = read(path, what)
    traces = records.record(_AUXTRACE_INFO, 0, struct.pack("<II", 5, 0))
    told = read(path, replace(what, head=what.head + traces))
    assert told.sampling is not None
    assert ours.sampling is not None
    assert told.sampling.outcomes == ours.sampling.outcomes
    assert [counted(line, told.display) for line in told.lines] == [counted(line, ours.display) for line in ours.lines]


_AUXTRACE_INFO = 70
