# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of a running kernel or program find their place; lines that emulation makes hot are set apart.

``placed.c`` is linked as a kernel is, with ``_text`` and ``_end``, and stands for one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from find.lines import Build, Built, accesses, line_of, profile_of

from linesmith.analyzer.attribution.placement import Trust, placed
from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.base.errors import ProfileError
from linesmith.analyzer.model import (
    Access,
    CacheLine,
    CpuCounts,
    FileMapping,
    ObjectArea,
    ObjectBuild,
    ObjectKind,
    Profile,
    Recording,
    Sampling,
)

MOVED = 0x1A60_0000  # a multiple of 2 MiB, as KASLR moves kernels
BASE = 0x5588_0000_0000


LINKED = ("-O1", "-no-pie", "-Wl,--build-id", "-Wl,--defsym=_text=__executable_start")


@pytest.fixture(scope="module")
def kernel(built: Built) -> File:
    return File(built("placed.c", *LINKED))


@pytest.fixture(scope="module")
def program(built: Built) -> File:
    return File(built("placed.c", "-O1", "-fPIE", "-pie", "-Wl,--build-id"))


class File(Build):
    """An ELF file in which samples are placed."""

    def code(self, function: str) -> int:
        """The first instruction of a function that touches memory."""
        begin = self.symbols[function]
        return min(int(one) for one in self.accesses.address if one >= begin)

    def place(self, profile: Profile, kernel: bool, trust: Trust = Trust.BUILD_ID) -> Profile:
        """The profile in the file's addresses."""
        reading = self.reading
        return placed(profile, reading.identity, reading.layouts, self.accesses, kernel, trust)


def sampled(address: int, code: int, sampling: Sampling, kernel: bool = True) -> Profile:
    """One load, at run-time addresses."""
    by_cpu = (CpuCounts(0, 0, loads=5, contended=5),)
    access = Access(address % 64, None, hitm_local=5, records=5, code_address=code, kernel=kernel, by_cpu=by_cpu)
    line = CacheLine(1, address - address % 64, (access,), hitm_local=5, records=5, pid=None if kernel else 42)
    return Profile("perf.data", "", "hitm", (line,), sampling=sampling)


def in_kernel(file: File, place: str, function: str, into: int = 0, **more: Any) -> Profile:
    """A load by a function at ``NAME+BYTES`` of a kernel that was moved; ``into`` its instruction."""
    name, _, offset = place.partition("+")
    build = ObjectBuild("[kernel.kallsyms]", file.reading.identity.build_id or "")
    sampling = replace(Sampling(builds=(build,), anchor=("_text", file.symbols["_text"] + MOVED)), **more)
    return sampled(file.symbols[name] + int(offset or 0) + MOVED, file.code(function) + into + MOVED, sampling)


def area_of(found: Profile, name: str) -> ObjectArea:
    (area,) = (one for one in found.areas if one.name == name)
    return area


def test_the_anchor_tells_how_far_the_kernel_was_moved(kernel: File) -> None:
    found = kernel.place(in_kernel(kernel, "central+8", "bound"), kernel=True)
    (access,) = found.lines[0].accesses
    assert (access.function, access.code_address) == ("bound", kernel.code("bound"))
    # The line keeps its address, and the variable is told at its own.
    area = area_of(found, "central")
    assert (area.kind, area.address, area.types) == (ObjectKind.GLOBAL, kernel.symbols["central"] + MOVED, ("account",))
    unanchored = kernel.place(in_kernel(kernel, "central+8", "bound", anchor=None), kernel=True)
    assert unanchored.lines[0].accesses[0].function == "bound", "the code tells it"


def test_a_program_s_samples_are_not_looked_for_in_a_kernel(kernel: File) -> None:
    (access,) = sampled(BASE, BASE, Sampling()).lines[0].accesses
    line = CacheLine(1, BASE, (replace(access, kernel=False),), hitm_local=5, records=5)
    (remark,) = kernel.place(Profile("perf.data", "", "hitm", (line,), sampling=Sampling()), kernel=True).remarks
    expected = "no sample on a shared line is in kernel code; give the program that was sampled, not "
    assert remark.text.startswith(expected)


@pytest.mark.parametrize(
    ("place", "function", "types", "stride", "count"),
    [
        ("accounts+48", "pay", ("account",), 16, 8),  # by the code that touches its elements
        ("visits", "visit", (), 8, 1),  # no record
    ],
)
def test_variables_have_their_names_and_types(
    place: str, function: str, types: tuple[str, ...], stride: int, count: int, kernel: File
) -> None:
    found = kernel.place(in_kernel(kernel, place, function), kernel=True)
    area = area_of(found, place.partition("+")[0])
    assert (area.types, area.stride, area.count) == (types, stride, count)


def test_the_name_of_a_class_may_hold_blanks(built: Built) -> None:
    file = File(built("pair.cc", *LINKED, compiler="g++"))
    assert area_of(file.place(in_kernel(file, "both+8", "main"), kernel=True), "both").types == ("pair<long int>",)


def test_another_build_is_refused_unless_the_user_says_what_to_go_by(kernel: File) -> None:
    other = (ObjectBuild("[kernel.kallsyms]", "ab" * 20),)
    profile = in_kernel(kernel, "central+8", "bound", builds=other)
    with pytest.raises(ProfileError, match=f"recorded on build-id {'ab' * 20}, but .*--assume-same-layout"):
        kernel.place(profile, kernel=True)
    by_layout = kernel.place(profile, kernel=True, trust=Trust.LAYOUT)
    assert by_layout.lines[0].accesses[0].function == "bound"
    by_name = kernel.place(profile, kernel=True, trust=Trust.SYMBOLS)
    assert (by_name.lines[0].accesses[0].code_address, by_name.areas) == (None, ())


def test_code_that_touches_no_memory_in_the_file_is_of_another_build(kernel: File) -> None:
    found = kernel.place(in_kernel(kernel, "central", "bound", into=1, builds=()), kernel=True)
    assert found.lines[0].accesses[0].code_address is None
    assert found.remarks[-1].text.startswith("only 0% of the samples are of instructions that touch memory")


def mapped(path: str, offset: int = 0) -> FileMapping:
    return FileMapping(42, path, BASE, BASE + 0x1000, offset)


def test_a_program_is_found_where_it_was_mapped(program: File) -> None:
    mapping = mapped("/srv/bank")
    build = ObjectBuild("/srv/bank", program.reading.identity.build_id or "")
    sampling = Sampling(builds=(build,), mappings=(mapping,))
    at = program.symbols["accounts"] + BASE
    found = program.place(sampled(at + 16, program.code("pay") + BASE, sampling, kernel=False), kernel=False)
    assert found.lines[0].accesses[0].function == "pay"
    assert ("accounts", at) in {(one.name, one.address) for one in found.areas}


def test_a_program_that_no_process_ran_is_told(program: File) -> None:
    profile = sampled(BASE + 0x40, BASE + 0x10, Sampling(mappings=(mapped("/usr/bin/another"),)), kernel=False)
    (remark,) = program.place(profile, kernel=False).remarks
    name = program.path.name
    assert remark.text == f"the profile tells of no process that had {name} mapped; names of functions must do"


def test_code_of_other_files_stays_where_it_was(program: File) -> None:
    sampling = Sampling(mappings=(mapped(str(program.path)),))
    profile = sampled(BASE + 0x10_0000_0000, 0x7F00_0000_1000, sampling, kernel=False)
    assert program.place(profile, kernel=False).lines[0].accesses[0].code_address == 0x7F00_0000_1000


KERNEL = Recording("qemu", ("storm",), (0, 0), "x86_64")
VMAS = ObjectArea(ObjectKind.SLAB, "vm_area_struct", 0x1000, 64, 64, 4, ("vm_area_struct",))
QUEUE = ObjectArea(ObjectKind.PER_CPU, "runqueues", 0x2000, 0x100, 0x100, 1, ("rq",), cpu=0)
JIFFIES = ObjectArea(ObjectKind.GLOBAL, "jiffies_64", 0x3000, 8, 8)
TASKS = ObjectArea(ObjectKind.GLOBAL, "tasklist_lock", 0x3008, 8, 8, 1, ("rwlock_t",))


def recorded(*met: tuple[int, str], areas: tuple[ObjectArea, ...] = (VMAS, QUEUE, JIFFIES, TASKS)) -> Profile:
    """A kernel's profile with these accesses on the lines at these addresses."""
    return profile_of(*(line_of(accesses(text), at) for at, text in met), recording=KERNEL, areas=areas)


@pytest.mark.parametrize(
    ("area", "text", "owner"),
    [
        (QUEUE, "8 kfree 9", "the scheduler"),
        (VMAS, "8 finish_task_switch 9, 16 ktime_get 9", None),  # a function decides nothing
        (replace(QUEUE, types=(), name="tk_core.seq"), "8 kfree 9", "timekeeping"),  # a part counts as the variable
        (replace(VMAS, name="kmalloc-512", types=("cfs_rq",)), "8 kfree 9", "the scheduler"),
        (replace(VMAS, name="kmalloc-512", types=("task_group",)), "8 update_load_avg 9", None),
        (replace(VMAS, types=("rq", "file")), "8 kfree 9", None),  # perhaps
        (replace(VMAS, name="jiffies"), "8 kfree 9", None),  # a cache of that name
        (QUEUE, "8 kfree 0", None),
    ],
)
def test_the_object_decides_whose_a_line_is(area: ObjectArea, text: str, owner: str | None) -> None:
    assert lines_apart(recorded((area.address, text), areas=(area,))).get(area.address) == owner


@pytest.mark.parametrize(("text", "apart"), [("0 a 75, 8 b 25", True), ("0 a 74, 8 b 26", False), ("16 c 1", False)])
def test_a_line_of_two_objects_is_set_apart_when_most_met_the_one(text: str, apart: bool) -> None:
    assert (lines_apart(recorded((0x3000, text))) != {}) == apart


def test_nothing_is_set_apart_in_samples_and_programs() -> None:
    profile = recorded((0x2000, "8 kfree 9"))
    assert lines_apart(profile)
    assert not lines_apart(replace(profile, recording=None))
    assert not lines_apart(replace(profile, recording=replace(KERNEL, ring="user")))
