# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording is read back as it was drawn, and each of its lines counts as in perf."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from linesmith_command import linesmith
from perf_data import program_scenario, records
from perf_data.hand_made import FIRST, SECOND, recording, with_more
from perf_data.hardware import ALL, ARM, INTEL, POWER, Hardware, Served
from perf_data.image import Program
from perf_data.perfs import Line, each_perf, needed, output, shared_lines
from perf_data.program_scenario import drawn, program_recording
from perf_data.recording import Recording, write, write_pipe
from perf_data.records import EVERY_ODD_FIELD, ODD_FIELDS, Field, Kind, Mapping, Mode
from perf_data.scenario import STORES, Drawn
from profiles.conformance import Example, breaches

from linesmith.analyzer.base.errors import LinesmithError, ProfileError
from linesmith.analyzer.model import CacheLine, Profile
from linesmith.plugins.profiles.formats import PerfData
from linesmith.plugins.registry import read_profiles

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


# A damaged or hostile file ends in a profile or one sentence, quickly: cut off, numbers that lie, bytes replaced


_U64 = (1 << 64) - 1
# Where the header has its own size, then the size of an attribute, the attributes' and the data's offset and size.
_HEADER = (8, 16, 24, 32, 40, 48)
_NUMBERS = (0, 1, 7, 103, 1 << 31, 1 << 40, _U64 - 7, _U64)
Damaged = Iterator[tuple[str, bytes]]


def lying_header(whole: bytes) -> Damaged:
    for at in _HEADER:
        for number in _NUMBERS:
            yield f"{number:#x} at byte {at} of the header", _with(whole, at, "<Q", number)


def lying_features(whole: bytes) -> Damaged:
    """Feature sections of wrong offsets, sizes and counts; also ones that hold themselves."""
    table = sum(struct.unpack_from("<QQ", whole, 40))
    for number in range(int.from_bytes(whole[72:104], "little").bit_count()):
        at = table + number * 16
        for value in (0, table, len(whole), _U64):
            yield f"section {number} at {value:#x}", _with(whole, at, "<Q", value)
        for value in (0, 3, len(whole), _U64):
            yield f"section {number} of {value:#x} bytes", _with(whole, at + 8, "<Q", value)
        offset = struct.unpack_from("<Q", whole, at)[0]
        yield f"section {number} begins with a count of 4 billion", _with(whole, offset, "<I", 0xFFFFFFFF)
    yield "every feature there is", whole[:72] + b"\xff" * 32 + whole[104:]


def lying_records(whole: bytes) -> Damaged:
    begin, size = struct.unpack_from("<QQ", whole, 40)
    places, at = [], begin
    while at + 8 <= begin + size:
        places.append(at)
        at += max(8, struct.unpack_from("<H", whole, at + 6)[0])
    for at in np.random.default_rng(1).choice(places, min(6, len(places)), replace=False).tolist():
        for value in (0, 1, 7, 8, 9, 16, 0xFFF8, 0xFFFF):
            yield f"record at {at} of {value} bytes", _with(whole, at + 6, "<H", value)
        for kind in (0, 2, 9, 10, 64, 66, 67, 71, 80, 81, 83, 255, 0xFFFFFFFF):
            yield f"record at {at} of kind {kind}", _with(whole, at, "<I", kind)
        yield f"record at {at} full of ones", whole[: at + 8] + b"\xff" * 64 + whole[at + 72 :]


def _with(whole: bytes, at: int, form: str, value: int) -> bytes:
    packed = struct.pack(form, value)
    return whole[:at] + packed + whole[at + len(packed) :]


_HEAD_BYTES = 1 << 16
_SECONDS = 20.0  # of CPU, far more than any takes: a loop without an end is meant


def outcome(path: Path, content: bytes) -> Profile | str | None:
    """What comes of it: a profile, an error's sentence, or nothing where it is not even taken for a perf.data."""
    path.write_bytes(content)
    source = PerfData()
    if not source.recognises(content[:_HEAD_BYTES]):
        return None
    try:
        return source.read(path, "given.data")[0]
    except LinesmithError as error:
        return str(error)


@pytest.mark.parametrize("kind", [lying_header, lying_features, lying_records], ids=lambda one: one.__name__)
def test_every_damage_is_told_or_read_around(kind: Callable[[bytes], Damaged], tmp_path: Path) -> None:
    write(tmp_path / "perf.data", with_more(recording(INTEL, 120)[0]))
    for name, content in kind((tmp_path / "perf.data").read_bytes()):
        begin = time.process_time()
        found = outcome(tmp_path / "hostile.data", content)
        assert time.process_time() - begin < _SECONDS, name
        if isinstance(found, str):
            assert found.isprintable(), name
            assert "given.data" in found, name


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program_scenario.compiled(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def data(server: Path) -> Path:
    path = server.with_name("perf.data")
    write(path, with_more(program_recording(Program(server), INTEL, 5000)))
    return path


def test_elements_of_a_global_array_and_objects_on_the_heap_are_named(server: Path, data: Path) -> None:
    """And every sample ends in one outcome: 5,000 of memory, 300 of cycles, 200 of a guest, 22 that were lost."""
    done = linesmith("hot", server, data, "--full")
    assert done.returncode == 0, done.stderr
    assert "memory    global per_thread[2]" in done.stdout
    assert "connection" in done.stdout
    assert "count_request" in done.stdout
    ended = " ".join(done.stdout.split()).partition("5,522 samples in = 5,522 out: ")[2]
    for part in ("300 no memory access", "200 in a guest", "22 lost while recording"):
        assert part in ended


def test_by_symbol_a_file_without_names_is_refused(data: Path, tmp_path: Path) -> None:
    other = program_scenario.compiled(tmp_path, "-O1")
    done = linesmith("hot", "--by-symbol", other, data)
    assert (done.returncode, done.stdout) == (2, "")
    assert "perf.data has no names of functions for --by-symbol; give the text of `perf script" in done.stderr


@each_perf
def test_perf_names_the_functions_and_addresses_that_were_drawn(perf: str, server: Path, tmp_path: Path) -> None:
    write(tmp_path / "perf.data", program_recording(Program(server), INTEL, 3000))
    samples, touches = drawn(Program(server), INTEL, 3000)
    places = zip(samples.touch.tolist(), samples.place.tolist(), strict=True)
    meant = Counter((touches[of].function, f"{touches[of].places[at].address:x}") for of, at in places)
    text = output(perf, "script", "-F", "addr,ip,sym", "-i", tmp_path / "perf.data")
    assert Counter((words[2], words[0]) for words in map(str.split, text.splitlines()) if words) == meant


@each_perf
@pytest.mark.parametrize("options", ["", "-g -a", "-z", "-z -o -"])
def test_what_perf_records_here_is_read(perf: str, options: str, tmp_path: Path) -> None:
    """Of an event that every machine has; its samples are of no memory."""
    path = recorded_here(perf, tmp_path, options)
    samples = len(re.findall(r"^\s*cpu-clock\S*:", output(perf, "script", "-i", path, "-F", "event"), re.MULTILINE))
    with pytest.raises(ProfileError, match=rf"\(samples: {samples} no memory access[,)]"):
        read_profiles(path)


def recorded_here(perf: str, folder: Path, options: str) -> Path:
    path = folder / "perf.data"
    work = (sys.executable, "-c", "sum(number * number for number in range(500_000))")
    words: tuple[str | Path, ...] = ("record", "-q", "-d", "-e", "cpu-clock", "-o", path, *options.split(), "--", *work)
    done = subprocess.run([needed(perf), *words], capture_output=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"perf cannot record here: {done.stderr.decode(errors='replace').strip()[:200]}")
    if not path.exists():
        path.write_bytes(done.stdout)
    return path
