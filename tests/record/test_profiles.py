# SPDX-License-Identifier: GPL-2.0-or-later
"""From the text of a recording to a profile: what is added up, kept and left out, and how it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.base.errors import NotRecorded
from linesmith.analyzer.model import Access, CallPath, Conflict, Order, Profile
from linesmith.plugins.recording.profile import CodeName, to_profile
from linesmith.plugins.recording.text import circumstances, read_recording

TEXT = """\
linesmith-recording 2
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
path 1 ffffffff81000012 ffffffff81000022 ffffffff81000032
path 2 ffffffff81000042 ffffffff81000032
path 3 ffffffff81000052
caller ffffffff82000040 0 8 ffffffff81000010 L 0 1
caller ffffffff82000040 0 8 ffffffff81000010 L 1 4
caller ffffffff82000040 0 8 ffffffff81000010 L 2 2
caller ffffffff82000040 8 4 ffffffff81000020 A 3 7
end
"""


def recorded(folder: Path, text: str) -> Profile:
    """The profile of a recording whose one function is called reader or writer."""
    path = folder / "recording"
    path.write_text(text)
    read = read_recording(path)
    functions = ("reader", "writer", "do_it", "asm_entered", None)

    def named(address: int) -> CodeName:
        return CodeName(functions[(address >> 4) % 16 - 1], "vmlinux")

    return to_profile(read, circumstances(Order(("true",)), read, "qemu", "7.2.0", None), named, "kernel")


def test_a_recording_becomes_a_profile(tmp_path: Path) -> None:
    """Accesses are added up over CPUs, an atomic update counts as a store, and a line that nobody lost is left out."""
    found = recorded(tmp_path, TEXT)
    (line,) = found.lines
    assert line.address == 0xFFFFFFFF82000040
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
        # Without itself; what ran before the kernel was entered did not call it.
        call_paths=(CallPath(("writer", "do_it"), 4), CallPath(("asm_entered",), 2)),
    )
    update = line.accesses[1]
    assert (update.stores_l1_hit, update.stores_l1_miss, update.taken, update.records) == (9, 10, 7, 19)
    assert update.call_paths == ()
    assert line.conflicts == (
        Conflict(
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
        ),
    )
    assert found.recording
    assert (found.recording.nodes, found.recording.counts) == ((0, 1), (("accesses", 60), ("dropped_pairs", 3)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin with 'linesmith-recording 2'; record again with this linesmith"),
        (TEXT.replace("recording 2", "recording 1"), "does not begin with 'linesmith-recording 2'"),
        (TEXT.removesuffix("end\n"), "is truncated: its last row is not 'end'; free disk space"),
        (TEXT.replace("line ", "lime "), r"recording:16 cannot be understood \(no row of this kind\)"),
        (TEXT.replace("L 0 5", "L 0"), r"recording:17 cannot be understood"),
        (TEXT.replace("k 40", "k forty"), r"recording:16 cannot be understood \(invalid literal"),
        (TEXT.replace("set quantum 1000\n", ""), r"lacks a setting \('quantum'\); reinstall linesmith"),
    ],
)
def test_a_damaged_recording_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NotRecorded, match=message):
        recorded(tmp_path, text)


def test_no_recording_at_all_means_that_the_region_was_not_reached(tmp_path: Path) -> None:
    with pytest.raises(NotRecorded, match="the region of interest was never reached"):
        read_recording(tmp_path / "absent")


def many_lines(lines: int) -> str:
    """Line ``k`` of so many has ``k`` HITM loads, hits of another instruction, and a pair that met once."""
    rows = []
    for number in range(1, lines + 1):
        at = f"{0xFFFFFFFF82000000 + 64 * number:x}"
        rows += [
            f"line {at} k {number} 0 0",
            f"access {at} 0 8 ffffffff81000010 L 0 0 {number} 0 0 0 0 0 0 0",
            f"access {at} 0 8 ffffffff81000020 L 0 9 0 0 0 0 0 0 0 0",
            f"pair {at} 0 8 ffffffff81000010 L 8 4 ffffffff81000020 false 1 0 0",
        ]
    return TEXT[: TEXT.index("line f")] + "\n".join((*rows, "end\n"))


def test_only_the_hottest_lines_are_kept_and_below_most_of_them_only_accesses_that_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linesmith.plugins.recording.profile.WHOLE_LINES", 2)
    monkeypatch.setattr("linesmith.plugins.recording.profile.MOST_LINES", 3)
    kept = recorded(tmp_path, many_lines(5))
    assert [len(line.accesses) for line in kept.lines] == [2, 2, 1]
    assert kept.remarks[-1].text == "2 lines with 20.0% of all contended accesses are below those in the profile"
    assert [one.misses for one in kept.lines[-1].conflicts] == [1], "conflicts are kept below the hottest, too"


def test_no_more_rows_are_kept_than_are_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two accesses and a conflict of a whole line, an access and a conflict of the others."""
    monkeypatch.setattr("linesmith.plugins.recording.profile.WHOLE_ROWS", 6)
    monkeypatch.setattr("linesmith.plugins.recording.profile.MOST_ROWS", 8)
    kept = recorded(tmp_path, many_lines(9))
    assert [len(line.accesses) for line in kept.lines] == [2, 2, 1]
    assert kept.remarks[0].text == "6 lines with 46.7% of all contended accesses are below those in the profile"


def test_shares_are_of_all_lines(tmp_path: Path) -> None:
    kept = recorded(tmp_path, many_lines(3))
    assert [line.share for line in kept.lines] == [3 / 6, 2 / 6, 1 / 6]
    assert kept.remarks == ()
