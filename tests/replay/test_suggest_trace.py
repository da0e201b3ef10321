# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest --trace`` from end to end: a compiled program, its profile with objects, traces by hand."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from linesmith_command import linesmith
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.demo import program
from linesmith.analyzer.model import ObjectArea, ObjectKind
from linesmith.analyzer.report import suggest_json
from linesmith.plugins.profiles import recorded
from linesmith.plugins.registry import read_profiles

INDEX = 0x4050C0
ROOT, GUARD = INDEX, INDEX + 16
ROUNDS = 100
NODES = (0, 0)
# CPU 0 takes the guard while CPU 1 looks for the root: the program's own conflict.
CONFLICT = turns([Step(0, "A", GUARD, 4), Step(1, "L", ROOT)], ROUNDS)
ELSEWHERE = turns([Step(0, "S", 0x800000), Step(1, "L", 0x800000)], 100)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the example program and its profile, which knows the program's one index."""
    directory = program.unpack(tmp_path_factory.mktemp("example") / "sources")
    program.build(directory, program.find_compiler())
    (profile,) = read_profiles(directory / "bench.c2c")
    area = ObjectArea(ObjectKind.GLOBAL, "sessions", INDEX, 128, 128, 1, ("session_index",))
    (directory / "profile.json").write_bytes(recorded.encode(replace(profile, areas=(area,))))
    (directory / "no-areas.json").write_bytes(recorded.encode(profile))
    return directory


def suggest(example: Path, trace: Path, *words: str, profile: str = "profile.json") -> subprocess.CompletedProcess[str]:
    done = linesmith("suggest", example / "bench", example / profile, "--trace", trace, *words)
    assert "Traceback" not in done.stderr
    return done


def text_of(example: Path, trace: Path, profile: str = "profile.json") -> str:
    done = suggest(example, trace, "--limit", "1", profile=profile)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_misses_of_a_candidate_are_told(example: Path, tmp_path: Path) -> None:
    said = text_of(example, write_trace(tmp_path / "trace", CONFLICT + ELSEWHERE, NODES))
    rows = said[said.index("  simulated") :].splitlines()
    assert rows[:2] == [
        "  simulated   64-byte lines: 199 -> 0 misses (-100.0%, resampled -100.0% to -100.0%), 50.00% ->",
        "              0.00% of all 398 traced",
    ]
    # The object begins in the second half of a pair of lines, so its own halves are in two pairs.
    assert rows[2].startswith("              128-byte lines: 199 -> 0 misses (-100.0%")
    assert "              root by stores to guard (false sharing): 100 -> 0" in rows
    assert "              200 accesses to 1 objects, replayed in " in said


def test_json_has_the_same_and_obeys_the_schema(example: Path, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", CONFLICT, NODES)
    document = json.loads(suggest(example, trace, "--format", "json").stdout)
    jsonschema.validate(document, suggest_json.schema())
    (at_64, at_128) = document["candidates"][0]["simulated"]["lines"]
    assert (at_64["line_bytes"], at_64["before"]["hitm_local"], at_64["after"]["hitm_local"]) == (64, 100, 0)
    assert (at_128["line_bytes"], at_128["change"]) == (128, -1)
    assert at_64["cycles_before"] > at_64["cycles_after"] == 0


def test_a_candidate_that_the_replay_finds_useless_is_told(example: Path, tmp_path: Path) -> None:
    on_the_lock_alone = turns([Step(0, "A", GUARD, 4), Step(1, "A", GUARD, 4)], ROUNDS)
    trace = write_trace(tmp_path / "trace", on_the_lock_alone, NODES)
    assert "Nothing is recommended: replayed on the trace, no candidate has fewer misses" in text_of(example, trace)
    said = suggest(example, trace, "--candidate", "1").stdout
    assert "64-byte lines: 199 -> 199 misses (+0.0%" in said
    assert "no better than the layout as it is: the misses go elsewhere" in said


def test_without_a_trace_nothing_is_said_of_it(example: Path) -> None:
    done = linesmith("suggest", example / "bench", example / "profile.json")
    assert "simulated" not in done.stdout
    document = json.loads(linesmith("suggest", example / "bench", example / "profile.json", "--format", "json").stdout)
    assert all("simulated" not in one for one in document["candidates"])


def test_numbers_stay_whatever_the_replay_says(example: Path, tmp_path: Path) -> None:
    # What no profile showed: a third CPU stores to every word of the second line, so moving there costs.
    noise = [Step(2, "S", INDEX + offset) for offset in range(64, 128, 8)]
    trace = write_trace(tmp_path / "trace", turns([*CONFLICT[:2], *noise], ROUNDS), (0, 0, 0))
    plain = json.loads(linesmith("suggest", example / "bench", example / "profile.json", "--format", "json").stdout)
    replayed = json.loads(suggest(example, trace, "--format", "json").stdout)
    assert numbered(plain) == numbered(replayed)


def numbered(document: dict[str, Any]) -> list[tuple[int, object]]:
    """Number and steps of each candidate."""
    return [(one["number"], one["moves"]) for one in document["candidates"]]


def test_a_trace_without_these_objects_is_said(example: Path, tmp_path: Path) -> None:
    said = text_of(example, write_trace(tmp_path / "trace", ELSEWHERE, NODES))
    title = "struct session_index"
    told = f"simulated The trace has no access to any of the 1 objects that are or hold a {title}."
    assert told in " ".join(said.split())


def test_a_profile_that_knows_no_objects_is_said(example: Path, tmp_path: Path) -> None:
    said = text_of(example, write_trace(tmp_path / "trace", CONFLICT, NODES), profile="no-areas.json")
    assert "The profile knows no object that is or holds a struct session_index, so the trace cannot tell." in " ".join(
        said.split()
    )


def test_a_trace_that_was_full_before_the_end_is_said(example: Path, tmp_path: Path) -> None:
    said = text_of(example, write_trace(tmp_path / "trace", CONFLICT, NODES, dropped=50))
    assert "but the trace was full before the end: the last 20.0% of its accesses are missing" in said


def test_a_damaged_trace_ends_the_command_with_one_sentence(example: Path, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", CONFLICT, NODES)
    os.truncate(trace, trace.stat().st_size - 8)
    done = suggest(example, trace)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "record it again with --trace" in done.stderr


def test_a_trace_is_never_written_over(example: Path, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", CONFLICT, NODES)
    before = trace.read_bytes()
    assert suggest(example, trace, "-o", str(trace)).returncode == 2
    assert trace.read_bytes() == before


def test_a_lock_in_copies_is_replayed_as_the_best_case(example: Path, tmp_path: Path) -> None:
    steps = turns([Step(0, "A", GUARD, 4), Step(1, "A", GUARD, 4)], ROUNDS)
    trace = write_trace(tmp_path / "trace", steps, (0, 1))
    done = suggest(example, trace, "--limit", "1", "--type", "session_index", "--shard", "guard", "--by", "node")
    rows = done.stdout[done.stdout.index("shard guard") :].splitlines()
    assert rows[0] == "shard guard of session_index: 2 copies, chosen by node"
    assert rows[1].startswith(f"  simulated   64-byte lines: {2 * ROUNDS - 1} -> 0 misses (-100.0%")
    assert rows[-2].startswith("  - The best case: every access goes to one copy")


def test_copies_are_in_the_json_too(example: Path, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "trace", CONFLICT, NODES)
    words = ("--type", "session_index", "--shard", "guard,count", "--ways", "4", "--by", "cpu", "--format", "json")
    document = json.loads(suggest(example, trace, *words).stdout)
    jsonschema.validate(document, suggest_json.schema())
    assert (document["sharded"]["members"], document["sharded"]["ways"]) == (["guard", "count"], 4)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--shard", "guard"), "--shard needs --type, the record of the members, and --trace"),
        (
            ("--type", "session_index", "--shard", "gaurd"),
            "struct session_index has no member gaurd; did you mean guard?",
        ),
        (
            ("--type", "session_index", "--shard", ","),
            "--shard names no member; give those of a lock and what it protects",
        ),
        (("--type", "session_index", "--shard", "guard"), "are on one node and would use one copy; say --by cpu"),
    ],
)
def test_copies_of_what_is_not_there_are_refused(
    example: Path, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    done = suggest(example, write_trace(tmp_path / "trace", CONFLICT, NODES), *words)
    assert done.returncode == 2
    assert sentence in done.stderr
