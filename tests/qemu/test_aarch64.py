# SPDX-License-Identifier: GPL-2.0-or-later
"""AArch64 guests, assembled by hand: markers and atomics are known by their encodings."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from pathlib import Path
from shutil import which

import pytest
from qemu.guest_programs import emulated

from linesmith.plugins.machines.user import plugin_file
from linesmith.plugins.recording.text import RecordingText, read_recording

START, STOP = 0xD2A9803F, 0xD2A9801F  # movz xzr, #0x4c01 (or #0x4c00), lsl #16
COUNT = 0xD2807D01  # mov x1, #1000
PLACE = 0xD10103E2  # sub x2, sp, #64
ONE = 0xD2800023  # mov x3, #1
ONE_LESS = 0xF1000421  # subs x1, x1, #1
EXIT = (0xD2800BA8, 0xD2800000, 0xD4000001)  # mov x8, #93; mov x0, #0; svc #0


def again(instructions: int) -> int:
    """``b.ne`` back over so many instructions."""
    return 0x54000001 | (-instructions & 0x7FFFF) << 5


def program(directory: Path, words: tuple[int, ...], base: int = 0x400000) -> Path:
    """A static executable of these instructions, which begin 128 bytes behind ``base``."""
    code = struct.pack(f"<{len(words)}I", *words)
    size = 128 + len(code)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, base + 128, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", 1, 7, 0, base, base, size, size, 0x1000)
    place = directory / "program"
    place.write_bytes((header + segment).ljust(128, b"\0") + code)
    place.chmod(0o755)
    return place


@pytest.mark.parametrize(
    ("name", "body", "accesses"),
    [
        ("ldr w4, [x2]", (0xB9400044,), 1),
        ("ldr w4, [x2]; str w4, [x2]", (0xB9400044, 0xB9000044), 2),
        ("ldaddal w3, w4, [x2]", (0xB8E30044,), 1),
        ("swp w3, w4, [x2]", (0xB8238044,), 1),
        ("casal w3, w4, [x2]", (0x88E3FC44,), 1),
        ("casp w4, w5, w6, w7, [x2]", (0x08247C46,), 1),
        ("ldxr w4, [x2]; stxr w5, w4, [x2]", (0x885F7C44, 0x88057C44), 2),
        ("ldaprb w4, [x2]", (0x38BFC044,), 1),
    ],
)
def test_a_halved_instruction_is_one_access(tmp_path: Path, name: str, body: tuple[int, ...], accesses: int) -> None:
    """The first of 1,000 rounds still runs outside: translations change after the block of the marker."""
    loop = (*body, ONE_LESS, again(len(body) + 1))
    done = emulated(program(tmp_path, (START, COUNT, PLACE, ONE, *loop, STOP, *EXIT)), qemu="qemu-aarch64")
    assert done.returncode == 0, done.stderr
    recording = read_recording(tmp_path / "recording")
    assert recording.settings["target"] == "aarch64"
    assert recording.counts["regions"] == 1
    assert recording.counts["accesses"] == 999 * accesses, name


POWER_ON_THE_OTHER = (
    *(0xD2800060, 0xF2B88000, 0xD2800021),  # mov x0, #3; movk x0, #0xc400, lsl #16 (CPU_ON); mov x1, #1
    *(0x10000062, 0xD2800003, 0xD4000002),  # adr x2, after; mov x3, #0; hvc #0
)
COUNT_IN_A_WORD_OF_ITS_OWN = (
    *(0xD53800A5, 0x924000A5),  # mrs x5, mpidr_el1; and x5, x5, #1
    *(0x100002C2, 0x8B050C42),  # adr x2, words; add x2, x2, x5, lsl #3
    *(0xD289C401, 0xB9400044, 0x11000484, 0xB9000044),  # mov x1, #20000; ldr w4, [x2]; add w4, w4, #1; str w4, [x2]
    *(ONE_LESS, again(4)),
)
THE_OTHER_SLEEPS = 0xB50000C5  # cbnz x5, asleep
NEXT = 0x14000001  # b to the next instruction, which ends the block
POWER_OFF = (0xD2800100, 0xF2B08000, 0xD4000002)  # mov x0, #8; movk x0, #0x8400, lsl #16 (SYSTEM_OFF); hvc #0
ASLEEP = (0xD503207F, 0x17FFFFFF)  # wfi; b to it
WORDS = (0,) * 18  # in a cache line of their own


def booted(directory: Path, image: Path) -> RecordingText:
    """What two CPUs did that began with the program."""
    plugin = f"{plugin_file()},out={directory / 'recording'},ring=both"
    words = (
        *("qemu-system-aarch64", "-M", "virt", "-cpu", "max", "-smp", "2", "-m", "128M", "-nodefaults"),
        *("-display", "none", "-accel", "tcg,thread=single", "-plugin", plugin),
        *("-device", f"loader,file={image},cpu-num=0"),
    )
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return read_recording(directory / "recording")


def test_two_cpus_of_a_bare_machine_share_a_line(tmp_path: Path) -> None:
    """No kernel: the two halves of the memory map are told apart by address, so this is user code by physical address.

    Source: Arm Power State Coordination Interface (DEN 0022), CPU_ON and SYSTEM_OFF.
    """
    work = (*POWER_ON_THE_OTHER, *COUNT_IN_A_WORD_OF_ITS_OWN, THE_OTHER_SLEEPS, STOP, NEXT, *POWER_OFF, *ASLEEP)
    recording = booted(tmp_path, program(tmp_path, (START, NEXT, *work, *WORDS), base=0x40200000))
    assert recording.settings["mode"] == "system"
    assert {(row.space, row.address % 64) for row in recording.lines} == {("p", 0)}
    assert {(row.offset, row.writer_offset) for row in recording.pairs} == {(0, 8), (8, 0)}
    assert min(row.local for row in recording.pairs) > 50


SOURCES = Path(__file__).with_name("sources")
CALLS = (SOURCES / "calls.c").read_text()


def test_callers_are_known_on_both_cpus_of_a_bare_machine(tmp_path: Path) -> None:
    """A recursive function called by a pointer, three times as often as another one."""
    if which("aarch64-linux-gnu-gcc") is None:
        pytest.skip("aarch64-linux-gnu-gcc is not installed")
    (tmp_path / "calls.c").write_text(CALLS)
    image = tmp_path / "calls"
    words = ("-O1", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-Wl,-Ttext=0x40200000", "-o", image)
    subprocess.run(["aarch64-linux-gnu-gcc", *words, tmp_path / "calls.c"], check=True)
    recording = booted(tmp_path, image)
    depth = Counter({len(recording.paths.get(row.path, ())): 0 for row in recording.callers})
    for row in recording.callers:
        depth[len(recording.paths.get(row.path, ()))] += row.count
    # seldom, work, _start; often three times, by_pointer, work, _start
    assert set(depth) == {3, 6}
    assert 0.6 < depth[6] / depth.total() < 0.9
