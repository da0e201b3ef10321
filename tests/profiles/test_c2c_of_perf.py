# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``perf c2c report`` prints of a recording with known samples is read back to their counts, with any options."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perf_data.event import Field
from perf_data.hand_made import FIRST, SECOND, TEXT, recording
from perf_data.hardware import AMD_NEW, ARM, INTEL, POWER, Hardware, Served
from perf_data.perfs import PERFS, needed, output
from perf_data.recording import write
from perf_data.samples import HERE
from perf_data.scenario import Drawn

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Access, Profile
from linesmith.plugins.profiles.c2c import reports_in

MACHINES = (INTEL, AMD_NEW, ARM, POWER)
_REMOTE, _LOCAL, _HIT, _MISS, _UNKNOWN, _CPUS = range(6)
_SERVED = list(Served)
# Line, offset, code address, process or thread.
Key = tuple[int, int, int | None, int | None]
_FRAMES = (1 << 64) - 128  # PERF_CONTEXT_KERNEL
_CHAINS = tuple(
    (_FRAMES, HERE, *(TEXT + frame for frame in frames)) for frames in ((0x5000,), (0x6000, 0x7000), (0x6000,))
)
OPTIONS = (
    (),
    ("-N",),
    ("-NN",),
    ("-NNN",),
    ("--full-symbols",),
    ("-v",),
    ("--show-all",),
    ("-c", "pid"),
    ("-c", "tid"),
    ("-c", "dso"),
    ("-c", "iaddr"),
    ("-c", "pid,iaddr"),
    ("-c", "tid,dso", "-NN"),
    ("-c", "pid,tid,iaddr,dso", "-N"),
)


def report(perf: str, file: Path, options: tuple[str, ...]) -> Profile:
    """The report with these options, read."""
    text = output(perf, "c2c", "report", "--stdio", "--no-source", "-i", file, *options)
    (profile,) = reports_in(text, "report.txt")
    return profile


def help_of(perf: str) -> str:
    words = [needed(perf), "c2c", "report", "-h"]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False).stderr


def counted(drawn: Drawn, machine: Hardware, options: tuple[str, ...]) -> dict[Key, list[int]]:
    """What was put in, by line, offset and what the rows are told apart by: remote, local, stores by level, CPUs."""
    keys = options[options.index("-c") + 1].split(",") if "-c" in options else ["iaddr"]
    groups: dict[Key, list[int]] = defaultdict(list)
    for number, sample in enumerate(drawn.samples):
        address = int(sample["addr"])
        if address & ~63 in (FIRST, SECOND):
            code = int(sample["ip"]) if "iaddr" in keys else None
            task = int(sample["tid"]) if "tid" in keys else int(sample["pid"]) if "pid" in keys else None
            groups[address & ~63, address & 63, code, task].append(number)
    counts = {key: _counts(drawn, numbers, machine) for key, numbers in groups.items()}
    return {key: counts for key, counts in counts.items() if any(counts[:_CPUS])}


def _counts(drawn: Drawn, numbers: list[int], machine: Hardware) -> list[int]:
    served = [_SERVED[drawn.served[number]] for number in numbers]
    remote, hit, miss = map(served.count, (Served.MODIFIED_AWAY, Served.STORE_HIT, Served.STORE_MISS))
    unknown = 0
    if machine is ARM:
        remote, hit, miss, unknown = remote + served.count(Served.CLEAN_AWAY), 0, 0, hit + miss
    elif machine is AMD_NEW:
        miss, unknown = 0, miss
    cpus = len(np.unique(drawn.samples["cpu"][numbers]))
    return [remote, served.count(Served.MODIFIED_HERE), hit, miss, unknown, cpus]


def read_rows(profile: Profile) -> dict[Key, list[int | None]]:
    """The same of what was read."""
    found: dict[Key, list[int | None]] = {}
    for line in profile.lines:
        for access in line.accesses:
            task = int(access.process.split(":")[0]) if access.process else None
            assert line.address is not None
            assert access.offset is not None
            found[line.address, access.offset, access.code_address, task] = read_counts(access)
    return found


def read_counts(access: Access) -> list[int | None]:
    contended = (access.peer_remote, access.peer_local) if access.hitm_local is None else (
        access.hitm_remote, access.hitm_local)  # fmt: skip
    return [*contended, access.stores_l1_hit, access.stores_l1_miss, access.stores_na, access.cpus]


@pytest.mark.parametrize("perf", PERFS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_report_is_read_back(perf: str, machine: Hardware, options: tuple[str, ...], tmp_path: Path) -> None:
    what, drawn = recording(machine)
    path = tmp_path / "perf.data"
    write(path, what)
    wanted = counted(drawn, machine, options)

    profile = report(perf, path, options)

    assert read_rows(replace(profile, lines=profile.lines[:2])) == wanted


@pytest.mark.parametrize("perf", PERFS)
@pytest.mark.parametrize("display", ["rmt", "lcl", "tot"])
def test_lines_may_be_sorted_by_any_hitm(perf: str, display: str, tmp_path: Path) -> None:
    what, drawn = recording(INTEL)
    path = tmp_path / "perf.data"
    write(path, what)

    profile = report(perf, path, ("-d", display))

    assert read_rows(profile) == counted(drawn, INTEL, ())


GRAPHS = ("graph", "fractal", "flat", "folded", "caller", "callee", "graph,0.5,caller,function,count", "none")


@pytest.mark.parametrize("perf", PERFS)
@pytest.mark.parametrize("style", GRAPHS)
def test_call_graphs_of_any_style_stand_between_the_rows(perf: str, style: str, tmp_path: Path) -> None:
    what, drawn = recording(INTEL)
    events = tuple(replace(one, more=Field.CALLCHAIN) for one in what.events)
    drawn.samples["chain"] = 1 + drawn.samples["cpu"] % 3
    path = tmp_path / "perf.data"
    write(path, replace(what, events=events, chains=_CHAINS))

    profile = report(perf, path, ("-g", style))

    assert read_rows(profile) == counted(drawn, INTEL, ())


@pytest.mark.parametrize("perf", PERFS)
def test_double_lines(perf: str, tmp_path: Path) -> None:
    if "--double-cl" not in help_of(perf):
        pytest.skip(f"{perf} is older than 6.4, which has no --double-cl")
    what, drawn = recording(INTEL)
    path = tmp_path / "perf.data"
    write(path, what)

    profile = report(perf, path, ("--double-cl",))

    assert {line.bytes for line in profile.lines} == {128}
    found = {(address + offset, code): counts for (address, offset, code, _), counts in read_rows(profile).items()}
    wanted = counted(drawn, INTEL, ())
    assert found == {(address + offset, code): counts for (address, offset, code, _), counts in wanted.items()}


@pytest.mark.parametrize("perf", PERFS)
@pytest.mark.parametrize(("machine", "display", "right"), [(ARM, "tot", "peer"), (INTEL, "peer", "tot")])
def test_report_of_what_the_hardware_does_not_tell_names_the_other(
    perf: str, machine: Hardware, display: str, right: str, tmp_path: Path
) -> None:
    path = tmp_path / "perf.data"
    write(path, recording(machine)[0])
    with pytest.raises(ProfileError, match=rf"lists no shared cache line .* -d {right}`$"):
        report(perf, path, ("-d", display))
