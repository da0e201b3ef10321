# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``perf script`` prints of a recording tells the same as the recording itself, whichever fields are printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from perf_data.event import Field
from perf_data.hand_made import TEXT, recording
from perf_data.hardware import ALL, INTEL, Hardware
from perf_data.more_records import LOST_RECORDS, with_more
from perf_data.perfs import PERFS, output
from perf_data.recording import write
from perf_data.samples import HERE

from linesmith.analyzer.model import Profile, SampleOutcome, SharedLine
from linesmith.plugins.profiles.perf_data.source import PerfData
from linesmith.plugins.profiles.script import PerfScript

each_perf = pytest.mark.parametrize("perf", PERFS)
FIELDS = (
    "comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,addr,data_src,weight,phys_addr",
    "comm,pid,tid,cpu,misc,time,period,event,ip,sym,dso,addr,data_src,weight",
    "pid,tid,cpu,event,ip,addr,data_src,weight",
    "pid,tid,cpu,time,ip,addr,data_src,weight,phys_addr",
    "pid,tid,cpu,addr,data_src,weight,ip,dso",
)


def script(perf: str, file: Path, *words: str) -> Profile:
    """The text of ``perf script``, read."""
    text = file.with_suffix(".txt")
    text.write_text(output(perf, "script", "--header", "-I", "-i", file, *words))
    assert PerfScript().recognises(text.read_bytes()[:65536])
    (profile,) = PerfScript().read(text, "given")
    return profile


def recorded(file: Path) -> Profile:
    (profile,) = PerfData().read(file, "given")
    return profile


def counts(profile: Profile) -> list[SharedLine]:
    """The lines without what only names and call chains tell."""
    return [
        replace(
            line,
            pid=None,
            accesses=tuple(
                sorted(
                    (replace(one, function=None, object_file=None, process=None, callers=()) for one in line.accesses),
                    key=lambda one: (one.offset or 0, one.code_address or 0),
                )
            ),
        )
        for line in profile.lines
    ]


def outcomes(profile: Profile) -> Iterator[tuple[SampleOutcome, int]]:
    assert profile.sampling is not None
    yield from ((outcome, count) for outcome, count in profile.sampling.outcomes if count)


@each_perf
@pytest.mark.parametrize("machine", ALL.values(), ids=list(ALL))
def test_default_output_with_what_it_lacks(perf: str, machine: Hardware, tmp_path: Path) -> None:
    """Of events that are not Intel's perf prints no data address unless it is asked to."""
    path = tmp_path / "perf.data"
    write(path, recording(machine)[0])
    printed = script(perf, path, "-F", "+pid,+addr,+data_src,+weight")
    assert counts(printed) == counts(recorded(path))
    assert list(outcomes(printed)) == list(outcomes(recorded(path)))


@each_perf
@pytest.mark.parametrize("fields", FIELDS)
def test_any_fields(perf: str, fields: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    write(path, recording(INTEL)[0])
    assert counts(script(perf, path, "-F", fields)) == counts(recorded(path))


@each_perf
def test_header_tells_the_machine(perf: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    write(path, recording(INTEL)[0])
    printed, own = script(perf, path, "-F", "+pid").sampling, recorded(path).sampling
    assert printed is not None
    assert own is not None
    assert (printed.release, printed.machine, printed.cpus) == (own.release, own.machine, own.cpus)


@each_perf
def test_call_chains(perf: str, tmp_path: Path) -> None:
    what, drawn = recording(INTEL)
    events = tuple(replace(one, more=Field.CALLCHAIN) for one in what.events)
    drawn.samples["chain"] = 1
    path = tmp_path / "perf.data"
    write(path, replace(what, events=events, chains=(((1 << 64) - 128, HERE, TEXT + 0x5000),)))
    assert counts(script(perf, path, "-F", "+pid")) == counts(recorded(path))


@each_perf
def test_events_without_addresses_guests_and_losses(perf: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    write(path, with_more(recording(INTEL)[0]))
    printed = script(perf, path, "-F", "+pid,+misc", "--show-lost-events")
    assert counts(printed) == counts(recorded(path))
    lost = {
        SampleOutcome.GUEST,
        SampleOutcome.LOST,
    }  # perf prints neither guests it knows nothing of, nor all that is lost
    assert {one: count for one, count in outcomes(printed) if one not in lost} == {
        one: count for one, count in outcomes(recorded(path)) if one not in lost
    }
    assert dict(outcomes(printed))[SampleOutcome.LOST] == LOST_RECORDS
