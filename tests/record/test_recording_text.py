# SPDX-License-Identifier: GPL-2.0-or-later
"""From the text of a recording to a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import NotRecorded
from linesmith.analyzer.model import Access, Conflict, Order, Profile
from linesmith.plugins.recordings.circumstances import circumstances
from linesmith.plugins.recordings.profile import Place, to_profile
from linesmith.plugins.recordings.text import read_recording

RECORDING = """\
linesmith-recording 1
set line_bytes 64
set cpus 2
set nodes 2
set quantum 1000
set mode system
set target x86_64
set ring kernel
set cache_bytes 0
set adjacent 0
set interleave exact
node 0 0
node 1 1
count accesses 60
count dropped_pairs 3
line ffffffff82000040 k 40 20 0
access ffffffff82000040 0 8 ffffffff81000010 L 0 5 1 2 0 1 0 0 0 3
access ffffffff82000040 0 8 ffffffff81000010 L 1 7 0 4 0 0 0 0 0 4
access ffffffff82000040 8 4 ffffffff81000020 A 1 9 0 0 1 0 2 3 4 8
pair ffffffff82000040 0 8 ffffffff81000010 L 8 4 ffffffff81000020 false 1 6 2
line ffffffff82000080 k 1 1 0
access ffffffff82000080 0 8 ffffffff81000010 S 0 1 0 0 0 0 1 0 0 0
end
"""


def recorded(folder: Path, text: str) -> Profile:
    """The profile of a recording whose one function is called reader or writer."""
    path = folder / "recording"
    path.write_text(text)
    read = read_recording(path)
    names = {0xFFFFFFFF81000010: Place("reader", "vmlinux"), 0xFFFFFFFF81000020: Place("writer", "vmlinux")}
    return to_profile(read, circumstances(Order(("true",)), read, "qemu", "7.2.0", None), names.__getitem__, "kernel")


def test_accesses_of_one_instruction_are_added_up_over_cpus(tmp_path: Path) -> None:
    line = recorded(tmp_path, RECORDING).lines[0]
    assert line.accesses[0] == Access(
        offset=0,
        function="reader",
        hitm_remote=6,
        hitm_local=1,
        stores_l1_hit=0,
        stores_l1_miss=0,
        records=20,
        cpus=2,
        code_address=0xFFFFFFFF81000010,
        object_file="vmlinux",
        nodes="0,1",
        kernel=True,
        width=8,
        taken=0,
    )


def test_an_atomic_update_counts_as_a_store(tmp_path: Path) -> None:
    update = recorded(tmp_path, RECORDING).lines[0].accesses[1]
    assert (update.stores_l1_hit, update.stores_l1_miss, update.taken, update.records) == (9, 10, 7, 19)


def test_a_conflict_names_victim_and_writer(tmp_path: Path) -> None:
    (conflict,) = recorded(tmp_path, RECORDING).lines[0].conflicts
    assert conflict == Conflict(
        offset=0,
        width=8,
        function="reader",
        writer_offset=8,
        writer_width=4,
        writer_function="writer",
        true_sharing=False,
        local=1,
        remote=6,
        shadowed=2,
        code_address=0xFFFFFFFF81000010,
        writer_code_address=0xFFFFFFFF81000020,
    )


def test_a_line_that_nobody_lost_is_left_out(tmp_path: Path) -> None:
    assert [line.address for line in recorded(tmp_path, RECORDING).lines] == [0xFFFFFFFF82000040]


def test_counts_and_drops_are_kept(tmp_path: Path) -> None:
    recording = recorded(tmp_path, RECORDING).recording
    assert recording
    assert (recording.nodes, recording.counts) == ((0, 1), (("accesses", 60), ("dropped_pairs", 3)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin with 'linesmith-recording 1'; record again with this linesmith"),
        (RECORDING.replace("recording 1", "recording 2"), "does not begin with 'linesmith-recording 1'"),
        (RECORDING.removesuffix("end\n"), "is cut off, its last row is not 'end'; make room on the disk"),
        (RECORDING.replace("line ", "lime "), r"recording:16 cannot be understood \(no row of this kind\)"),
        (RECORDING.replace("L 0 5", "L 0"), r"recording:17 cannot be understood"),
        (RECORDING.replace("k 40", "k forty"), r"recording:16 cannot be understood \(invalid literal"),
        (RECORDING.replace("set quantum 1000\n", ""), r"lacks a setting \('quantum'\); reinstall linesmith"),
    ],
)
def test_a_damaged_recording_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NotRecorded, match=message):
        recorded(tmp_path, text)


def test_no_recording_at_all_means_that_the_region_was_not_reached(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="the region of interest was never reached"):
        read_recording(tmp_path / "absent")
