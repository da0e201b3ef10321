# SPDX-License-Identifier: GPL-2.0-or-later
"""Forms of a stream that the writer does not write: traces, damaged samples, fields of any length."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from perf_data.records import Kind

from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import CallPath, Profile, SampleOutcome
from linesmith.plugins.profiles.perf_data import source
from linesmith.plugins.registry import read_profiles

IP, TID, ADDR, READ, CALLCHAIN, CPU, RAW, STACK, WEIGHT, SOURCE = (
    1 << bit for bit in (0, 1, 3, 4, 5, 7, 10, 13, 14, 15)
)
LINE, CODE = 0xFFFF888100000040, 0xFFFFFFFF81000010
KERNEL, USER = (1 << 64) - 128, (1 << 64) - 512
HITM = 0x2 | (0x2 | 0x40) << 5 | 0x10 << 19


def file_of(fields: int, samples: list[bytes], read_format: int = 0, mode: int = 1) -> bytes:
    """A perf.data file with one event and kernel samples, each given without its header."""
    attribute = struct.pack("<IIQQQQQ", 4, 64, 0x1CD, 1, fields, read_format, 0).ljust(64, b"\0")
    records = b"".join(struct.pack("<IHH", Kind.SAMPLE, mode, 8 + len(one)) + one for one in samples)
    begin = 104 + 80
    sections = (104, 80, begin, len(records), 0, 0)
    header = b"PERFILE2" + struct.pack("<8Q", 104, 80, *sections) + bytes(32)
    return header + attribute + bytes(16) + records


def read(data: bytes, folder: Path) -> Profile:
    path = folder / "perf.data"
    path.write_bytes(data)
    (profile,) = read_profiles(path)
    return profile


def test_latencies_are_of_the_samples_that_have_one(tmp_path: Path) -> None:
    """The last of four samples has no latency, which is not one of 0 cycles."""
    samples = [struct.pack("<QIIQIIQQ", CODE, 7, 8, LINE + 8, 3, 0, cycles, HITM) for cycles in (250, 250, 250, 0)]
    profile = read(file_of(IP | TID | ADDR | CPU | WEIGHT | SOURCE, samples), tmp_path)
    (line,) = profile.lines
    (access,) = line.accesses
    assert (line.address, access.offset, access.code_address, access.hitm_local) == (LINE, 8, CODE, 4)
    assert access.cycles_local == 250
    (counts,) = access.by_cpu
    assert (counts.cpu, counts.loads, counts.cycles, counts.timed) == (3, 4, 750, 3)


def test_lines_of_a_program_are_of_its_process_not_of_its_threads(tmp_path: Path) -> None:
    threads = [struct.pack("<QIIQQ", CODE & 0xFFFFFF, 7, thread, LINE & 0xFFFFFF, HITM) for thread in (8, 9)]
    profile = read(file_of(IP | TID | ADDR | SOURCE, threads, mode=2), tmp_path)
    assert [(line.pid, line.hitm_local) for line in profile.lines] == [(7, 2)]


def test_fields_of_any_length_in_front_of_the_data_source(tmp_path: Path) -> None:
    """A group of counters, a call chain, raw data, a stack: their lengths stand in the sample."""

    def samples() -> Iterator[bytes]:
        for length in range(4):
            group = struct.pack("<Q", length) + bytes(16 * length)
            chain = struct.pack("<Q", length) + bytes(8 * length)
            raw = struct.pack("<I", 4 + 8 * length) + bytes(4 + 8 * length)
            stack = struct.pack("<Q", 8 * length) + (bytes(8 * length) + struct.pack("<Q", 0) if length else b"")
            before = struct.pack("<QQ", CODE, LINE) + group + chain + raw + stack
            yield before + struct.pack("<QQ", 100 + length, HITM)

    fields = IP | ADDR | READ | CALLCHAIN | RAW | STACK | WEIGHT | SOURCE
    profile = read(file_of(fields, list(samples()), read_format=1 << 2 | 1 << 3), tmp_path)
    assert profile.sampling is not None
    assert profile.sampling.outcomes == ((SampleOutcome.SHARED_LINE, 4),)
    assert profile.lines[0].accesses[0].cycles_local == (100 + 101 + 102 + 103) // 4


@pytest.mark.parametrize(
    ("chain", "returns"),
    [
        ((KERNEL, CODE, CODE + 0x100, CODE + 0x200, USER, 0x401000), (CODE + 0x100, CODE + 0x200)),
        ((CODE, CODE + 0x100), (CODE + 0x100,)),
        ((KERNEL, CODE), ()),
        ((USER,), ()),
        ((KERNEL, CODE, *range(CODE + 1, CODE + 100)), tuple(range(CODE + 1, CODE + 7))),
    ],
)
def test_call_chains_say_who_called_the_code_up_to_where_the_mode_changes(
    chain: tuple[int, ...], returns: tuple[int, ...], tmp_path: Path
) -> None:
    one = struct.pack(f"<QQQ{len(chain)}QQ", CODE, LINE, len(chain), *chain, HITM)
    profile = read(file_of(IP | ADDR | CALLCHAIN | SOURCE, [one] * 3), tmp_path)
    assert profile.lines[0].accesses[0].call_paths == ((CallPath((), 3, returns),) if returns else ())


def test_a_sample_that_ends_before_its_fields_is_counted_as_not_understood(tmp_path: Path) -> None:
    whole = struct.pack("<QQQ", CODE, LINE, HITM)
    endless = struct.pack("<QQQ", CODE, LINE, 1 << 60)
    profile = read(file_of(IP | ADDR | SOURCE, [whole, whole[:16]]), tmp_path)
    assert profile.sampling is not None
    assert dict(profile.sampling.outcomes) == {SampleOutcome.SHARED_LINE: 1, SampleOutcome.NOT_READ: 1}
    with pytest.raises(ProfileError, match="1 not understood"):
        read(file_of(IP | ADDR | CALLCHAIN | SOURCE, [endless]), tmp_path)


@pytest.mark.parametrize("size", [0, 4, 12])
def test_a_record_of_no_possible_size_ends_the_reading(size: int, tmp_path: Path) -> None:
    sample = struct.pack("<QQQ", CODE, LINE, HITM)
    data = file_of(IP | ADDR | SOURCE, [sample, sample])
    data = data[:-26] + struct.pack("<H", size) + data[-24:]
    with pytest.raises(ProfileError, match=f"a record of type 9 says that it has {size} bytes"):
        read(data, tmp_path)


def test_records_between_the_samples_are_stepped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """perf's own, and the data of a trace behind its record; the file is read in pieces that end within records."""
    monkeypatch.setattr(source, "_PIECE", 1000)
    sample = struct.pack("<IHHQQQ", Kind.SAMPLE, 1, 32, CODE, LINE, HITM)
    others = struct.pack("<IHH", 79, 0, 24) + b"\xff" * 16
    trace = struct.pack("<IHHQQQ", 71, 0, 32, 64, 0, 0) + b"\xff" * 64
    count = 300
    data = bytearray(file_of(IP | ADDR | SOURCE, []) + (sample + others + trace) * count)
    data[48:56] = struct.pack("<Q", len(data) - 184)
    assert read(bytes(data), tmp_path).lines[0].hitm_local == count


def test_a_recording_that_was_killed_is_read_to_its_end(tmp_path: Path) -> None:
    """perf writes the length of the data last; what was cut off behind it is not missed."""
    sample = struct.pack("<QQQ", CODE, LINE, HITM)
    data = bytearray(file_of(IP | ADDR | SOURCE, [sample] * 3))
    data[48:56] = bytes(8)
    profile = read(bytes(data[:-10]), tmp_path)
    assert profile.lines[0].hitm_local == 2
    assert profile.remarks[0].text.startswith("the recording was not finished")


LOAD, STORE, PREFETCH = 0x2, 0x4, 0x8
HIT, MISS, NO_LEVEL = 0x2 << 5, 0x4 << 5, 0x1 << 5
L1, L2, L3, REMOTE_CACHE = (bit << 5 for bit in (0x8, 0x20, 0x40, 0x400))
SNOOP_HIT, MODIFIED = 0x4 << 19, 0x10 << 19
REMOTE, PEER = 1 << 37, 2 << 38
NUMBER_2, NUMBER_3, HOP = 2 << 33, 3 << 33, 1 << 43


@pytest.mark.parametrize(
    ("bits", "counts"),
    [
        pytest.param(LOAD | HIT | L3 | MODIFIED, {"hitm_local": 1}, id="PEBS: another core of the socket"),
        pytest.param(LOAD | HIT | REMOTE_CACHE | MODIFIED, {"hitm_remote": 1}, id="PEBS: another socket"),
        pytest.param(LOAD | HIT | L3 | SNOOP_HIT, {}, id="a clean line of another core"),
        pytest.param(LOAD | L3 | MODIFIED, {}, id="neither hit nor miss is told"),
        pytest.param(LOAD | HIT | REMOTE | NUMBER_3 | MODIFIED, {"hitm_remote": 1}, id="Skylake: the remote bit alone"),
        pytest.param(LOAD | HIT | REMOTE | HOP | NUMBER_2 | MODIFIED, {}, id="PowerPC: a core of the own node"),
        pytest.param(LOAD | HIT | L3 | REMOTE_CACHE | SNOOP_HIT | MODIFIED, {"hitm_local": 1},
            id="hit and HITM: remote counts as a hit"),
        pytest.param(LOAD | HIT | L3 | PEER, {"peer_local": 1}, id="SPE: another core of the cluster"),
        pytest.param(LOAD | HIT | L2 | L3 | PEER, {"peer_local": 2}, id="two levels count twice"),
        pytest.param(LOAD | HIT | REMOTE_CACHE | PEER, {"peer_remote": 1}, id="SPE: another socket"),
        pytest.param(STORE | HIT | L1, {"stores_l1_hit": 1}, id="store into L1"),
        pytest.param(STORE | MISS | L1, {"stores_l1_miss": 1}, id="store that missed L1"),
        pytest.param(STORE | NO_LEVEL, {"stores_na": 1}, id="IBS: store of no known level"),
        pytest.param(STORE | HIT | L2, {"stores_na": 1}, id="store of a level without a column"),
        pytest.param(LOAD | STORE | HIT | L3 | MODIFIED, {"hitm_local": 1}, id="load and store is a load"),
        pytest.param(PREFETCH | HIT | L3 | MODIFIED, None, id="a prefetch is no access"),
        pytest.param(0, None, id="no data source"),
    ],
)  # fmt: skip
def test_what_the_bits_of_a_data_source_count_as(bits: int, counts: dict[str, int] | None, tmp_path: Path) -> None:
    """Beside a HITM load and a peer's one of the same line, which make it a shared one."""
    others = (HITM, LOAD | HIT | L3 | PEER)
    samples = [struct.pack("<QQQ", CODE, LINE, source) for source in others]
    samples.append(struct.pack("<QQQ", CODE + 9, LINE + 8, bits))
    (line,) = read(file_of(IP | ADDR | SOURCE, samples), tmp_path).lines
    found = [{name: count for name in COUNTED if (count := getattr(one, name))} for one in line.accesses if one.offset]
    assert found == ([] if counts is None else [counts])


COUNTED = ("hitm_local", "hitm_remote", "peer_local", "peer_remote", "stores_l1_hit", "stores_l1_miss", "stores_na")
