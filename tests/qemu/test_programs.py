# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs with a known way of sharing, recorded under qemu-user: the pair is named, and nothing else is."""

from __future__ import annotations

import subprocess
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from qemu.guest_programs import (
    accesses_at,
    address_of,
    compiled,
    emulated,
    lines_of,
    recorded,
    recording_of,
    worst_pair,
)
from text_cases import text_rows

from linesmith.plugins.machines.user import plugin_file
from linesmith.plugins.recording.text import RecordingText

pytestmark = pytest.mark.xdist_group("emulated programs")

# Words: how many bytes lie between two counters that a thread each adds to, and what the program does of it all.
SOURCES = Path(__file__).with_name("sources")
TWO_COUNTERS = (SOURCES / "two_counters.c").read_text()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("counters"), TWO_COUNTERS)


Counted = tuple[RecordingText, int, int]


def counted(program: Path, *words: str, options: Sequence[str] = ()) -> Counted:
    """A recording of the counters, and where they are."""
    done = emulated(program, options, words=words)
    assert done.returncode == (3 if "dies" in words else 0), done.stderr
    left, right = (int(word, 16) for word in done.stdout.split())
    return recording_of(program), left, right


def test_two_counters_on_one_line_are_false_sharing_of_that_pair(program: Path) -> None:
    recording, left, right = counted(program, "4", options=["quantum=5000"])
    loses, takes = worst_pair(recording, left, right), worst_pair(recording, right, left)
    assert min(loses.local, takes.local) > 50
    assert (loses.true_sharing, loses.kind) == (False, "L")
    # Slices have about the length of the quantum.
    slices = recording.counts["instructions"] / 5000
    assert 0.8 * slices < recording.counts["slices"] < 1.2 * slices + 10


def test_counters_on_lines_of_their_own_meet_nowhere(program: Path) -> None:
    recording, left, right = counted(program, "124")
    assert not lines_of(recording) & {left, right & -64}


def test_a_line_of_128_bytes_brings_counters_100_bytes_apart_together(program: Path) -> None:
    recording, left, right = counted(program, "96", options=["line_bytes=128"])
    assert recording.settings["line_bytes"] == "128"
    assert worst_pair(recording, left, right).local > 50


def test_cpus_of_two_nodes_take_lines_from_afar(program: Path) -> None:
    """The program's first thread is CPU 0, its two workers are CPUs 1 and 2."""
    pair = worst_pair(*counted(program, "4", options=["nodes=0:0:1"]))
    assert (pair.remote > 50, pair.local) == (True, 0)


def test_the_whole_program_or_what_runs_between_two_functions_may_be_the_region(program: Path) -> None:
    whole = counted(program, "4", "unmarked", options=["region=all"])
    assert worst_pair(*whole).local > 50
    assert whole[0].counts["open_regions"] == 1
    start, stop = (address_of(program, name) for name in ("opens", "closes"))
    between = counted(program, "4", "unmarked", options=["region=symbol", f"start={start}", f"stop={stop}"])
    assert worst_pair(*between).local > 50
    assert between[0].counts["regions"] == 1


def test_a_program_that_dies_in_its_region_leaves_what_was_counted(program: Path) -> None:
    recording, _, _ = counted(program, "4", "dies")
    assert (recording.counts["regions"], recording.counts["open_regions"]) == (0, 1)
    assert recording.pairs


def test_a_trace_appears_whole_beside_the_recording(program: Path, tmp_path: Path) -> None:
    recording, _, _ = counted(program, "4", options=[f"trace={tmp_path / 'trace'}"])
    assert (tmp_path / "trace").read_bytes().startswith(b"LSMTRACE")
    assert not list(tmp_path.glob("*.part"))
    assert recording.counts["trace_seen"] > 400000
    assert 100 < recording.counts["trace_events"] < recording.counts["trace_seen"] / 10
    assert recording.counts["dropped_trace"] == 0


ONE_COUNTER = (SOURCES / "one_counter.c").read_text()


# An exchange with memory is atomic without a prefix.
@pytest.mark.parametrize("builtin", ["__atomic_fetch_add", "__atomic_exchange_n"])
def test_an_atomic_update_is_one_access(tmp_path: Path, builtin: str) -> None:
    recording, (counter,) = recorded(tmp_path, ONE_COUNTER.replace("__atomic_fetch_add", builtin))
    (line,) = (row for row in recording.lines if row.address == counter)
    assert (line.loads, line.stores) == (0, 200000)
    assert {row.kind for row in accesses_at(recording, counter)} == {"A"}
    assert worst_pair(recording, counter, counter).true_sharing


STRING = (SOURCES / "string.c").read_text()


# Words of eight bytes that no line begins with span two lines each time.
@pytest.mark.parametrize(("words", "place"), [("stosb", "page"), ("stosq", "page + 4")])
def test_a_repeated_string_instruction_is_one_access_to_each_line(tmp_path: Path, words: str, place: str) -> None:
    """Byte by byte it would be 408,800 accesses; the loop around it adds a few."""
    bytes_of_word = 8 if words == "stosq" else 1
    source = STRING.replace("stosb", words).replace("*to = page", f"*to = {place}")
    recording, _ = recorded(tmp_path, source.replace("clear(sizeof page)", f"clear(4088 / {bytes_of_word})"))
    assert 6400 - 64 <= recording.counts["accesses"] < 8000
    assert recording.counts["instructions"] < 4000


REGIONS = (SOURCES / "regions.c").read_text()


def test_only_what_runs_in_a_region_is_counted_and_regions_add_up(tmp_path: Path) -> None:
    recording, (before, within, after) = recorded(tmp_path, REGIONS)
    assert not {before, after} & lines_of(recording)
    assert recording.counts["regions"] == 2
    (line,) = (row for row in recording.lines if row.address == within)
    assert line.stores == 400000


FORKS = (SOURCES / "forks.c").read_text()


def test_a_child_of_a_fork_does_not_write_the_recording_of_its_parent(tmp_path: Path) -> None:
    recording, _ = recorded(tmp_path, FORKS)
    assert recording.counts["regions"] == 1
    assert recording.counts["accesses"] < 50000


def test_without_a_region_or_a_place_for_it_there_is_no_recording(tmp_path: Path) -> None:
    program = compiled(tmp_path, 'int main(int argc, char **argv) { if (argc > 1) { START; STOP; } puts("went on"); }')
    done = emulated(program)
    assert "the guest never entered a region of interest: no recording was written" in done.stderr
    assert not (tmp_path / "recording").exists()
    done = emulated(program, ["out=/nowhere/at/all"], words=["marked"])
    assert "the recording /nowhere/at/all cannot be written: No such file or directory" in done.stderr
    assert done.stdout == "went on\n"


CALLERS = (SOURCES / "callers.c").read_text()


def test_whose_code_was_reached_by_calls_is_known_with_its_callers(tmp_path: Path) -> None:
    """Three quarters by a recursive function that was called by a pointer, as often as they are."""
    recording, starts = recorded(tmp_path, CALLERS)
    ways: Counter[tuple[str, ...]] = Counter()
    functions = sorted(zip(starts, ("bump", "seldom", "often", "by_pointer"), strict=True))
    for row in recording.callers:
        place = bisect_right([start for start, _ in functions], row.ip) - 1
        if functions[place][1] == "bump":
            returns = recording.paths.get(row.path, ())
            names = (functions[bisect_right([start for start, _ in functions], one - 1) - 1][1] for one in returns)
            ways[tuple(names)[:4]] += row.count
    (often, many), (seldom, few) = ways.most_common(2)
    assert often == ("often", "often", "often", "by_pointer")
    assert seldom[0] == "seldom"
    assert many + few == ways.total() > 50
    assert 0.6 < many / (many + few) < 0.9


# An option that is wrong keeps QEMU from starting, with one sentence that says what to write instead


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("refused"), 'int main(void) { puts("ran"); }')


@text_rows(Path(__file__).with_name("refused.txt"))
def test_what_an_option_must_be_is_said(refused: Path, source: str, expected: list[str]) -> None:
    done = emulated(refused, [source])
    assert f"linesmith: {expected[0]}" in done.stderr
    assert done.returncode != 0
    assert "ran" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("qemu-x86_64", "-plugin", "{plugin}", "{program}"), "the option out=FILE is missing: it names the recording"),
        (("qemu-arm", "-plugin", "{plugin},out={program}.out", "{program}"), "x86_64 and aarch64 can be followed, not"),
        (
            (
                "qemu-system-x86_64",
                "-M",
                "q35",
                "-smp",
                "65",
                "-display",
                "none",
                "-plugin",
                "{plugin},out={program}.out",
            ),
            "at most 64 virtual CPUs can be followed, not 65",
        ),
        (
            (
                *("qemu-system-x86_64", "-M", "q35", "-smp", "4", "-display", "none"),
                *("-plugin", "{plugin},out={program}.out,nodes=0:1"),
            ),
            "nodes= must name the node of every virtual CPU",
        ),
    ],
    ids=["no recording", "another architecture", "too many CPUs", "a node for some"],
)
def test_a_machine_that_cannot_be_followed_is_refused(refused: Path, words: Sequence[str], said: str) -> None:
    argv = [word.format(plugin=plugin_file(), program=refused) for word in words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert said in done.stderr
