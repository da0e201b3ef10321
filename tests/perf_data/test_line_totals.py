# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines that linesmith reads have the counts that ``perf c2c report`` gives them, and perf's own text agrees."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perf_data import records
from perf_data.hand_made import recording
from perf_data.hardware import ALL, INTEL, POWER, Hardware
from perf_data.more_records import with_more
from perf_data.perfs import PERFS, Line, needed, shared_lines
from perf_data.recording import Recording, write
from perf_data.records import Mapping, Mode

from linesmith.analyzer.model import Profile, Sampling, SharedLine
from linesmith.plugins.profiles.perf_data.by_perf import add_decoded
from linesmith.plugins.profiles.perf_data.source import PerfData
from linesmith.plugins.profiles.sample_profile import profile_of_samples
from linesmith.plugins.profiles.samples import Samples

each_perf = pytest.mark.parametrize("perf", PERFS)
each_hardware = pytest.mark.parametrize("machine", ALL.values(), ids=list(ALL))
_CODE, _DATA, _ANONYMOUS = 0x55D3_0000_0000, 0x55D3_0010_0000, 0x7F00_0000_0000
_MOVED = 0x1_0000_0000


def read(path: Path) -> Profile:
    (profile,) = PerfData().read(path, path.name)
    return profile


def counted(line: SharedLine, display: str) -> Line:
    """The line in the words of perf's table."""
    remote, local = line.hitm_remote or 0, line.hitm_local or 0
    if display == "peer":
        remote, local = line.peer_remote or 0, line.peer_local or 0
    hit, miss, unknown = line.stores_l1_hit or 0, line.stores_l1_miss or 0, line.stores_na or 0
    return Line(line.address or 0, remote, local, hit + miss + unknown, hit, miss, unknown)


def by_level(line: Line) -> Line:
    """The line as we count it: perf has no column for stores of other levels than L1."""
    return replace(line, stores_unknown=line.stores - line.stores_hit - line.stores_miss)


@each_perf
@each_hardware
def test_each_line_counts_as_in_perf(perf: str, machine: Hardware, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    write(path, with_more(recording(machine)[0]))

    told = shared_lines(perf, path)

    profile = read(path)
    lines = [counted(line, profile.display) for line in profile.lines]
    assert len(lines) == 2
    # perf lists the lines of a guest, too, which has other memory at the same addresses.
    if machine is not POWER:
        assert set(lines) <= set(map(by_level, told))
    # Lines of PowerPC have 128 bytes, but here perf takes those of the machine that it runs on.
    else:
        assert {line.address // 128 * 128 for line in told} == {line.address for line in lines}


@each_perf
def test_lines_of_processes_are_parted_as_by_perf(perf: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    write(path, two_processes())

    told = Counter((line.remote, line.local, line.stores) for line in shared_lines(perf, path))

    profile = read(path)
    found = [counted(line, "hitm") for line in profile.lines]
    assert Counter((line.remote, line.local, line.stores) for line in found) == told
    # The file's line is one, under its address in the first process; anonymous memory has one for each.
    assert [
        (line.address, line.pid) for line in sorted(profile.lines, key=lambda one: (one.address or 0, one.pid))
    ] == [
        (_DATA, 100),
        (_ANONYMOUS, 100),
        (_ANONYMOUS, 200),
    ]


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
def test_what_perf_prints_of_traces_is_counted_alike(machine: Hardware, tmp_path: Path) -> None:
    needed("perf")
    path = tmp_path / "perf.data"
    write(path, recording(machine)[0])
    samples = Samples()

    add_decoded(path, "perf.data", samples)

    ours = read(path)
    told = profile_of_samples(samples, "perf.data", Sampling(machine=machine.machine))
    assert told.sampling is not None
    assert ours.sampling is not None
    assert told.sampling.outcomes == ours.sampling.outcomes
    assert [counted(line, told.display) for line in told.lines] == [counted(line, ours.display) for line in ours.lines]
