# SPDX-License-Identifier: GPL-2.0-or-later
"""What perf prints of a recording, as a report or sample by sample, is read as what was recorded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perf_data.hand_made import FIRST, LOST_RECORDS, SECOND, TEXT, recording, with_more
from perf_data.hardware import ALL, AMD, ARM, INTEL, POWER, Hardware, Served
from perf_data.perfs import each_perf, output
from perf_data.recording import Recording, write
from perf_data.records import EVERY_ODD_FIELD, Field
from perf_data.samples import HERE, Chain
from perf_data.scenario import Drawn
from profiles.posted import read_one

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import Access, CacheLine, Profile, SampleOutcome
from linesmith.plugins.registry import read_profiles

_SERVED = list(Served)
# Line, offset, code address, process or thread.
Key = tuple[int, int, int | None, int | None]
# Counts: remote, local, stores by level, CPUs.
Rows = dict[Key, tuple[int | None, ...]]
_FRAMES = (1 << 64) - 128  # PERF_CONTEXT_KERNEL
_CHAINS = tuple(
    (_FRAMES, HERE, *(TEXT + frame for frame in frames)) for frames in ((0x5000,), (0x6000, 0x7000), (0x6000,))
)
CHAINS = Field.CALLCHAIN
OPTIONS = (
    "", "-N", "-NN", "-NNN", "--full-symbols", "-v", "--show-all", "-c pid", "-c tid", "-c dso", "-c iaddr",
    "-c pid,iaddr", "-c tid,dso -NN", "-c pid,tid,iaddr,dso -N",
)  # fmt: skip
FEW = ("", "-c tid,dso -NN")
GRAPHS = ("graph", "flat", "folded", "graph,0.5,caller,function,count")
FIELDS = (
    "comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,addr,data_src,weight,phys_addr",
    "comm,pid,tid,cpu,misc,time,period,event,ip,sym,dso,addr,data_src,weight",
    "pid,tid,cpu,event,ip,addr,data_src,weight",
    "pid,tid,cpu,time,ip,addr,data_src,weight,phys_addr",
    "pid,tid,cpu,addr,data_src,weight,ip,dso",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "perf.data"


def with_chains(what: Recording, drawn: Drawn, chains: Sequence[Chain]) -> Recording:
    """The recording with a call chain for each sample, by its CPU."""
    drawn.samples["chain"] = 1 + drawn.samples["cpu"] % len(chains)
    return replace(what, events=tuple(replace(one, more=Field.CALLCHAIN) for one in what.events), chains=chains)


def report(perf: str, file: Path, options: str) -> Profile:
    """The report with these options, read."""
    words = ["c2c", "report", "--stdio", "--no-source", "-i", str(file), *options.split()]
    return read_one(output(perf, *words))


def counted(drawn: Drawn, machine: Hardware = INTEL, options: str = "") -> Rows:
    """What was put in, by line, offset and what the rows are told apart by."""
    keys = options.partition("-c ")[2].partition(" ")[0].split(",") if "-c" in options else ["iaddr"]
    groups: dict[Key, list[int]] = defaultdict(list)
    for number, sample in enumerate(drawn.samples):
        address = int(sample["addr"])
        if address & ~63 in (FIRST, SECOND):
            code = int(sample["ip"]) if "iaddr" in keys else None
            task = int(sample["tid"]) if "tid" in keys else int(sample["pid"]) if "pid" in keys else None
            groups[address & ~63, address & 63, code, task].append(number)
    found = {key: _counts(drawn, numbers, machine) for key, numbers in groups.items()}
    return {key: counts for key, counts in found.items() if any(counts[:-1])}


def _counts(drawn: Drawn, numbers: list[int], machine: Hardware) -> tuple[int, ...]:
    served = Counter(_SERVED[drawn.served[number]] for number in numbers)
    remote, hit, miss = (served[one] for one in (Served.MODIFIED_AWAY, Served.STORE_HIT, Served.STORE_MISS))
    unknown = 0
    if machine is ARM:
        remote, hit, miss, unknown = remote + served[Served.CLEAN_AWAY], 0, 0, hit + miss
    elif machine is AMD:
        miss, unknown = 0, miss
    cpus = len(np.unique(drawn.samples["cpu"][numbers]))
    return remote, served[Served.MODIFIED_HERE], hit, miss, unknown, cpus


def read_rows(profile: Profile) -> Rows:
    """The same of what was read."""
    found: Rows = {}
    for line in profile.lines:
        for access in line.accesses:
            task = int(access.process.split(":")[0]) if access.process else None
            assert line.address is not None
            assert access.offset is not None
            found[line.address, access.offset, access.code_address, task] = _read_counts(access)
    return found


def _read_counts(access: Access) -> tuple[int | None, ...]:
    peers = access.hitm_local is None
    met = (access.peer_remote, access.peer_local) if peers else (access.hitm_remote, access.hitm_local)
    return *met, access.stores_l1_hit, access.stores_l1_miss, access.stores_na, access.cpus


@each_perf
@pytest.mark.parametrize(
    ("machine", "options"),
    [
        *((INTEL, options) for options in OPTIONS),
        *(pytest.param(machine, options, id=f"{machine.name} {options}",
            marks=[pytest.mark.study] * (at not in (0, 12))) for machine in (AMD, ARM, POWER) for at,
            options in enumerate(OPTIONS)),
        *((INTEL, f"-d {display}") for display in ("rmt", "lcl", "tot")),
    ],
    ids=lambda one: one.name if isinstance(one, Hardware) else one,
)  # fmt: skip
def test_report_is_read_back(perf: str, machine: Hardware, options: str, path: Path) -> None:
    what, drawn = recording(machine)
    write(path, what)
    profile = report(perf, path, options)
    assert read_rows(replace(profile, lines=profile.lines[:2])) == counted(drawn, machine, options)


@each_perf
@pytest.mark.parametrize("style", GRAPHS)
def test_call_graphs_of_any_style_stand_between_the_rows(perf: str, style: str, path: Path) -> None:
    what, drawn = recording(INTEL)
    write(path, with_chains(what, drawn, _CHAINS))
    assert read_rows(report(perf, path, f"-g {style}")) == counted(drawn)


@each_perf
@pytest.mark.parametrize(("machine", "display", "right"), [(ARM, "tot", "peer"), (INTEL, "peer", "tot")])
def test_report_of_what_the_hardware_does_not_tell_names_the_other(
    perf: str, machine: Hardware, display: str, right: str, path: Path
) -> None:
    write(path, recording(machine)[0])
    with pytest.raises(ProfileError, match=rf"lists no shared cache line .* -d {right}`$"):
        report(perf, path, f"-d {display}")


def script(perf: str, file: Path, *words: str) -> Profile:
    """The text of ``perf script``, read."""
    return read_one(output(perf, "script", "--header", "-I", "-i", file, *words))


def recorded(file: Path) -> Profile:
    (profile,) = read_profiles(file)
    return profile


def counts(profile: Profile) -> list[CacheLine]:
    """The lines without what only names and call chains tell."""
    found = []
    for line in profile.lines:
        bare = (replace(one, function=None, object_file=None, process=None, call_paths=()) for one in line.accesses)
        rows = sorted(bare, key=lambda one: (one.offset or 0, one.code_address or 0))
        found.append(replace(line, pid=None, accesses=tuple(rows)))
    return found


def outcomes(profile: Profile) -> Counter[SampleOutcome]:
    assert profile.sampling is not None
    return +Counter(dict(profile.sampling.outcomes))


@each_perf
@pytest.mark.parametrize("machine", ALL.values(), ids=list(ALL))
def test_samples_of_default_output_with_what_it_lacks(perf: str, machine: Hardware, path: Path) -> None:
    """Of events that are not Intel's perf prints no data address unless it is asked to."""
    write(path, recording(machine)[0])
    printed, own = script(perf, path, "-F", "+pid,+addr,+data_src,+weight"), recorded(path)
    assert counts(printed) == counts(own)
    assert outcomes(printed) == outcomes(own)


@each_perf
@pytest.mark.parametrize("fields", FIELDS)
def test_samples_of_any_fields(perf: str, fields: str, path: Path) -> None:
    write(path, recording(INTEL)[0])
    assert counts(script(perf, path, "-F", fields)) == counts(recorded(path))


@each_perf
@pytest.mark.parametrize("more", [EVERY_ODD_FIELD, CHAINS])
def test_samples_of_any_recording(perf: str, more: Field, path: Path) -> None:
    what, drawn = recording(INTEL)
    if more == CHAINS:
        what = with_chains(what, drawn, _CHAINS[:1])
    write(path, replace(what, events=tuple(replace(one, more=more) for one in what.events)))
    printed, own = script(perf, path, "-F", FIELDS[0]), recorded(path)
    assert counts(printed) == counts(own)
    assert printed.sampling is not None
    assert own.sampling is not None
    told = own.sampling.release, own.sampling.machine, own.sampling.cpus
    assert (printed.sampling.release, printed.sampling.machine, printed.sampling.cpus) == told


@each_perf
def test_events_without_addresses_guests_and_losses(perf: str, path: Path) -> None:
    """Perf prints neither guests it knows nothing of, nor all that is lost."""
    write(path, with_more(recording(INTEL)[0]))
    printed, own = script(perf, path, "-F", "+pid,+misc", "--show-lost-events"), recorded(path)
    assert counts(printed) == counts(own)
    told, known = outcomes(printed), outcomes(own)
    assert told.pop(SampleOutcome.LOST) == LOST_RECORDS
    for one in (SampleOutcome.GUEST, SampleOutcome.LOST):
        told.pop(one, None)
        known.pop(one)
    assert told == known
