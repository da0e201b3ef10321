# SPDX-License-Identifier: GPL-2.0-or-later
"""Forms of a stream that the writer does not write: the other byte order, odd lengths, fields of any length."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Profile, SampleOutcome
from linesmith.plugins.profiles.perf_data.byte_order import ByteOrder
from linesmith.plugins.profiles.perf_data.records import Kind, Walker
from linesmith.plugins.profiles.perf_data.source import PerfData

IP, TID, ADDR, READ, CALLCHAIN, CPU, RAW, STACK, WEIGHT, SOURCE = (
    1 << bit for bit in (0, 1, 3, 4, 5, 7, 10, 13, 14, 15)
)
LINE, CODE = 0xFFFF888100000040, 0xFFFFFFFF81000010
HITM = 0x2 | (0x2 | 0x40) << 5 | 0x10 << 19


def file_of(order: str, fields: int, samples: list[bytes], read_format: int = 0, mode: int = 1) -> bytes:
    """A perf.data file with one event and kernel samples, each given without its header."""
    attribute = struct.pack(f"{order}IIQQQQQ", 4, 64, 0x1CD, 1, fields, read_format, 0).ljust(64, b"\0")
    records = b"".join(struct.pack(f"{order}IHH", Kind.SAMPLE, mode, 8 + len(one)) + one for one in samples)
    begin = 104 + 80
    sections = (104, 80, begin, len(records), 0, 0)
    magic = b"PERFILE2" if order == "<" else b"2ELIFREP"
    header = magic + struct.pack(f"{order}8Q", 104, 80, *sections) + bytes(32)
    return header + attribute + bytes(16) + records


def read(data: bytes, folder: Path) -> Profile:
    path = folder / "perf.data"
    path.write_bytes(data)
    (profile,) = PerfData().read(path, "perf.data")
    return profile


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order: str, tmp_path: Path) -> None:
    """The last of four samples has no latency, which is not one of 0 cycles."""
    samples = [
        struct.pack(f"{order}QIIQIIQQ", CODE, 7, 8, LINE + 8, 3, 0, cycles, HITM) for cycles in (250, 250, 250, 0)
    ]
    profile = read(file_of(order, IP | TID | ADDR | CPU | WEIGHT | SOURCE, samples), tmp_path)
    (line,) = profile.lines
    (access,) = line.accesses
    assert (line.address, access.offset, access.code_address, access.hitm_local) == (LINE, 8, CODE, 4)
    assert access.cycles_local == 250
    (counts,) = access.by_cpu
    assert (counts.cpu, counts.loads, counts.cycles, counts.timed) == (3, 4, 750, 3)


def test_lines_of_a_program_are_of_its_process_not_of_its_threads(tmp_path: Path) -> None:
    threads = [struct.pack("<QIIQQ", CODE & 0xFFFFFF, 7, thread, LINE & 0xFFFFFF, HITM) for thread in (8, 9)]
    profile = read(file_of("<", IP | TID | ADDR | SOURCE, threads, mode=2), tmp_path)
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
    profile = read(file_of("<", fields, list(samples()), read_format=1 << 2 | 1 << 3), tmp_path)
    assert profile.sampling is not None
    assert profile.sampling.outcomes == ((SampleOutcome.SHARED_LINE, 4),)
    assert profile.lines[0].accesses[0].cycles_local == (100 + 101 + 102 + 103) // 4


def test_a_sample_that_ends_before_its_fields_is_counted_as_not_understood(tmp_path: Path) -> None:
    whole = struct.pack("<QQQ", CODE, LINE, HITM)
    endless = struct.pack("<QQQ", CODE, LINE, 1 << 60)
    profile = read(file_of("<", IP | ADDR | SOURCE, [whole, whole[:16]]), tmp_path)
    assert profile.sampling is not None
    assert dict(profile.sampling.outcomes) == {SampleOutcome.SHARED_LINE: 1, SampleOutcome.NOT_READ: 1}
    with pytest.raises(ProfileError, match="1 not understood"):
        read(file_of("<", IP | ADDR | CALLCHAIN | SOURCE, [endless]), tmp_path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (struct.pack("<IHH", 9, 1, 0), "a record of type 9 says that it has 0 bytes"),
        (struct.pack("<IHH", 9, 1, 12) + bytes(8), "a record of type 9 says that it has 12 bytes"),
        (struct.pack("<IHH", 9, 1, 16) * 1000 + struct.pack("<IHH", 1, 1, 4), "a record of type 1 says"),
    ],
)
def test_records_that_are_none(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        list(Walker(ByteOrder("<")).feed(data + bytes(64)))


@pytest.mark.parametrize("piece", [1, 7, 8, 24, 1000])
def test_records_come_in_any_pieces(piece: int) -> None:
    """Of three sizes, with perf's own of odd lengths and the data of a trace between them."""
    sizes = [24, 24, 13, 16, 9, 32] * 20
    kinds = [Kind.SAMPLE, Kind.SAMPLE, Kind.COMPRESSED, Kind.AUXTRACE, Kind.FEATURE, Kind.MMAP] * 20
    stream = b""
    for kind, size in zip(kinds, sizes, strict=True):
        trace = 64 if kind is Kind.AUXTRACE else 0
        stream += struct.pack("<IHH", kind, 0, size) + struct.pack("<QQQ", trace, 0, 0)[: size - 8] + b"\xff" * trace
    walker = Walker(ByteOrder("<"))
    found = [
        (int(kind), int(size))
        for begin in range(0, len(stream), piece)
        for block in walker.feed(stream[begin : begin + piece])
        for kind, size in zip(block.kind, block.size, strict=True)
    ]
    assert found == list(zip(kinds, sizes, strict=True))
    assert walker.is_between_records


def test_a_recording_that_was_killed_is_read_to_its_end(tmp_path: Path) -> None:
    """perf writes the length of the data last; what was cut off behind it is not missed."""
    sample = struct.pack("<QQQ", CODE, LINE, HITM)
    data = bytearray(file_of("<", IP | ADDR | SOURCE, [sample] * 3))
    data[48:56] = bytes(8)
    profile = read(bytes(data[:-10]), tmp_path)
    assert profile.lines[0].hitm_local == 2
    assert profile.remarks[0].text.startswith("the recording was not finished")
