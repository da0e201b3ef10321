# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of a running kernel or program find their place in the ELF file: builds, distances, variables.

``placed.c`` is linked as a kernel is, with ``_text`` and ``_end``, and stands for one.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linesmith.analyzer.access import AccessMap, read_accesses
from linesmith.analyzer.addresses.elf_symbols import ElfSymbols, read_symbols
from linesmith.analyzer.addresses.placement import Trust, placed
from linesmith.analyzer.dwarf import Reading, read_layouts
from linesmith.analyzer.errors import BuildIdDiffers
from linesmith.analyzer.model import (
    Access,
    CpuCounts,
    FileMapping,
    ObjectBuild,
    ObjectKind,
    Profile,
    Sampling,
    SharedLine,
)

SOURCE = Path(__file__).with_name("placed.c")
MOVED = 0x1A60_0000  # a multiple of 2 MiB, as KASLR moves kernels
BASE = 0x5588_0000_0000


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("kernel") / "vmlinux"
    link = ("-no-pie", "-Wl,--build-id", "-Wl,--defsym=_text=__executable_start")
    subprocess.run(["gcc", "-g", "-O1", *link, str(SOURCE), "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("program") / "bank"
    subprocess.run(["gcc", "-g", "-O1", "-fPIE", "-pie", "-Wl,--build-id", str(SOURCE), "-o", str(target)], check=True)
    return target


class File:
    """What is known of an ELF file."""

    def __init__(self, path: Path) -> None:
        self.reading: Reading = read_layouts(path)
        self.accesses: AccessMap = read_accesses(path).accesses
        self.symbols: ElfSymbols = read_symbols(self.reading.identity)

    def data(self, name: str) -> int:
        """Where a symbol lies in the file."""
        address = self.symbols.address_of(name)
        assert address is not None
        return address

    def code(self, function: str) -> int:
        """The first instruction of a function that touches memory."""
        begin = self.data(function)
        return min(int(one) for one in self.accesses.address if one >= begin)

    def place(self, profile: Profile, kernel: bool, trust: Trust = Trust.BUILD_ID) -> Profile:
        """The profile in the file's addresses."""
        reading = self.reading
        return placed(profile, reading.identity, reading.layouts, self.accesses, kernel, trust)


def sampled(address: int, code: int, sampling: Sampling, kernel: bool = True) -> Profile:
    """One load, at run-time addresses."""
    by_cpu = (CpuCounts(0, 0, loads=5, contended=5),)
    access = Access(address % 64, None, hitm_local=5, records=5, code_address=code, kernel=kernel, by_cpu=by_cpu)
    line = SharedLine(1, address - address % 64, (access,), hitm_local=5, records=5, pid=None if kernel else 42)
    return Profile("perf.data", "", "hitm", (line,), sampling=sampling)


def of_kernel(file: File, **more: Any) -> Sampling:
    build = ObjectBuild("[kernel.kallsyms]", file.reading.identity.build_id or "")
    return replace(Sampling(builds=(build,), anchor=("_text", file.data("_text") + MOVED)), **more)


def test_the_anchor_tells_how_far_the_kernel_was_moved(kernel: Path) -> None:
    file = File(kernel)
    profile = sampled(file.data("central") + 8 + MOVED, file.code("bound") + MOVED, of_kernel(file))
    found = file.place(profile, kernel=True)
    (access,) = found.lines[0].accesses
    assert (access.function, access.code_address) == ("bound", file.code("bound"))
    # The line keeps its address, and the variable is told at its own.
    (area,) = (one for one in found.areas if one.name == "central")
    assert (area.kind, area.address, area.types) == (ObjectKind.GLOBAL, file.data("central") + MOVED, ("account",))


def test_without_an_anchor_the_code_tells_it(kernel: Path) -> None:
    file = File(kernel)
    profile = sampled(file.data("central") + 8 + MOVED, file.code("bound") + MOVED, of_kernel(file, anchor=None))
    assert file.place(profile, kernel=True).lines[0].accesses[0].function == "bound"


def test_a_program_s_samples_are_not_looked_for_in_a_kernel(kernel: Path) -> None:
    file = File(kernel)
    (access,) = sampled(BASE, BASE, Sampling()).lines[0].accesses
    line = SharedLine(1, BASE, (replace(access, kernel=False),), hitm_local=5, records=5)
    (remark,) = file.place(Profile("perf.data", "", "hitm", (line,), sampling=Sampling()), kernel=True).remarks
    assert remark.text.startswith(
        "no sample on a shared line is of kernel code; give the program that was sampled, not "
    )


def test_elements_of_an_array_are_typed_by_the_code_that_touches_them(kernel: Path) -> None:
    file = File(kernel)
    profile = sampled(file.data("accounts") + 3 * 16 + MOVED, file.code("pay") + MOVED, of_kernel(file))
    (area,) = (one for one in file.place(profile, kernel=True).areas if one.name == "accounts")
    assert (area.types, area.stride, area.count) == (("account",), 16, 8)


def test_the_name_of_a_class_may_hold_blanks(tmp_path: Path) -> None:
    source = (
        "template <class T> struct pair { T first, second; }; pair<long> both; int main() { return both.second++; }"
    )
    (tmp_path / "pair.cc").write_text(source)
    link = ("-no-pie", "-Wl,--build-id", "-Wl,--defsym=_text=__executable_start")
    subprocess.run(["g++", "-g", "-O1", *link, "pair.cc", "-o", "pair"], check=True, cwd=tmp_path)
    file = File(tmp_path / "pair")
    profile = sampled(file.data("both") + 8 + MOVED, file.code("main") + MOVED, of_kernel(file))
    (area,) = (one for one in file.place(profile, kernel=True).areas if one.name == "both")
    assert area.types == ("pair<long int>",)


def test_a_variable_that_is_no_record_has_its_name(kernel: Path) -> None:
    file = File(kernel)
    profile = sampled(file.data("visits") + MOVED, file.code("visit") + MOVED, of_kernel(file))
    (area,) = (one for one in file.place(profile, kernel=True).areas if one.name == "visits")
    assert (area.types, area.size) == ((), 8)


def test_another_build_is_refused_unless_the_user_says_what_to_go_by(kernel: Path) -> None:
    file = File(kernel)
    other = of_kernel(file, builds=(ObjectBuild("[kernel.kallsyms]", "ab" * 20),))
    profile = sampled(file.data("central") + 8 + MOVED, file.code("bound") + MOVED, other)
    with pytest.raises(BuildIdDiffers, match=f"recorded on build-id {'ab' * 20}, but .*--assume-same-layout"):
        file.place(profile, kernel=True)
    by_layout = file.place(profile, kernel=True, trust=Trust.LAYOUT)
    assert by_layout.lines[0].accesses[0].function == "bound"
    by_name = file.place(profile, kernel=True, trust=Trust.SYMBOLS)
    assert (by_name.lines[0].accesses[0].code_address, by_name.areas) == (None, ())


def test_code_that_touches_no_memory_in_the_file_is_of_another_build(kernel: Path) -> None:
    file = File(kernel)
    profile = sampled(file.data("central") + MOVED, file.code("bound") + 1 + MOVED, of_kernel(file, builds=()))
    found = file.place(profile, kernel=True)
    assert found.lines[0].accesses[0].code_address is None
    assert found.remarks[-1].text.startswith("only 0% of the samples are of instructions that touch memory")


def test_a_program_is_found_where_it_was_mapped(program: Path) -> None:
    file = File(program)
    segment = file.symbols.segments[0]
    mapping = FileMapping(42, "/srv/bank", BASE, BASE + 0x1000, segment.offset)
    build = ObjectBuild("/srv/bank", file.reading.identity.build_id or "")
    sampling = Sampling(builds=(build,), mappings=(mapping,))
    profile = sampled(file.data("accounts") + 16 + BASE, file.code("pay") + BASE, sampling, kernel=False)
    found = file.place(profile, kernel=False)
    assert found.lines[0].accesses[0].function == "pay"
    assert ("accounts", file.data("accounts") + BASE) in {(one.name, one.address) for one in found.areas}


def test_a_program_that_no_process_ran_is_told(program: Path) -> None:
    file = File(program)
    mapping = FileMapping(42, "/usr/bin/another", BASE, BASE + 0x1000, 0)
    profile = sampled(BASE + 0x40, BASE + 0x10, Sampling(mappings=(mapping,)), kernel=False)
    (remark,) = file.place(profile, kernel=False).remarks
    assert remark.text == "the profile tells of no process that had bank mapped; names of functions must do"


def test_code_of_other_files_stays_where_it_was(program: Path) -> None:
    file = File(program)
    mapping = FileMapping(42, str(program), BASE, BASE + 0x1000, 0)
    profile = sampled(BASE + 0x10_0000_0000, 0x7F00_0000_1000, Sampling(mappings=(mapping,)), kernel=False)
    assert file.place(profile, kernel=False).lines[0].accesses[0].code_address == 0x7F00_0000_1000
