# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith suggest --trace`` from end to end: a compiled program, its profile with objects, traces by hand."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documented import obeys
from linesmith_command import linesmith
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.demo import walkthrough
from linesmith.analyzer.model import ObjectArea, ObjectKind, Recording
from linesmith.plugins.profiles import formats
from linesmith.plugins.registry import read_profiles
from linesmith.tuner.replay.replayer import place_of_trace, with_trace

pytestmark = pytest.mark.xdist_group("suggest-trace")
INDEX = 0x4050C0
ROOT, GUARD = INDEX, INDEX + 16
# CPU 0 takes the guard while CPU 1 looks for the root: the program's own conflict.
CONFLICT = turns([Step(0, "A", GUARD, 4), Step(1, "L", ROOT)], 100)
ELSEWHERE = turns([Step(0, "S", 0x800000), Step(1, "L", 0x800000)], 100)
LOCK_ALONE = turns([Step(0, "A", GUARD, 4), Step(1, "A", GUARD, 4)], 100)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the example program and its profile, which knows the program's one index."""
    directory = walkthrough.unpack(tmp_path_factory.mktemp("example") / "sources")
    walkthrough.build(directory, walkthrough.find_compiler())
    (profile,) = read_profiles(directory / "bench.c2c")
    area = ObjectArea(ObjectKind.GLOBAL, "sessions", INDEX, 128, 128, 1, ("session_index",))
    (directory / "profile.json").write_bytes(formats.encode(replace(profile, areas=(area,))))
    (directory / "no-areas.json").write_bytes(formats.encode(profile))
    return directory


def suggest(example: Path, *words: str | Path, profile: str = "profile.json") -> subprocess.CompletedProcess[str]:
    return linesmith("suggest", example / "bench", example / profile, *words)


def text_of(example: Path, *words: str | Path, profile: str = "profile.json") -> str:
    done = suggest(example, *words, profile=profile)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def json_of(example: Path, *words: str | Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text_of(example, *words, "--format", "json"))
    obeys(document, "suggest")
    return document


def trace(folder: Path, steps: list[Step], nodes: tuple[int, ...] = (0, 0), dropped: int = 0) -> tuple[str, Path]:
    """The words that have the trace of these steps replayed."""
    return "--trace", write_trace(folder / "trace", steps, nodes, dropped)


def test_the_misses_of_a_candidate_are_told(example: Path, tmp_path: Path) -> None:
    words = trace(tmp_path, CONFLICT + ELSEWHERE)
    assert "100% (the same in all runs) " in text_of(example, *words), (
        "of what the profile counts, whatever else is in the trace"
    )
    said = text_of(example, *words, "--candidate", "1")
    assert "  saves     100% of the misses of the profile (80% interval the same in all runs): 1,036 of 1,036\n" in said
    assert said[said.index("  replayed  all") :].splitlines()[:2] == [
        "  replayed  all lines of the record: 1,036 -> 0",
        "            line of root: 1,036 -> 0",
    ]
    assert "            root by stores to guard (false sharing): 1,036 -> 0\n" in said
    assert "  replayed  200 recorded accesses to 1 object, scaled to the record's 1,036 misses. No time is" in said
    assert "  interval  covers the spread over the recorded time, not another workload or machine\n" in said


def test_json_has_the_same(example: Path, tmp_path: Path) -> None:
    judgement = json_of(example, *trace(tmp_path, CONFLICT))["candidates"][0]["judgement"]
    assert (judgement["before"], judgement["after"], judgement["runs"], judgement["line_bytes"]) == (1036, 0, 1, 64)
    # What no profile showed: a third CPU stores to every word of the second line, so moving there costs.
    noise = [Step(2, "S", INDEX + offset) for offset in range(64, 128, 8)]
    replayed = json_of(example, *trace(tmp_path, turns([*CONFLICT[:2], *noise], 100), (0, 0, 0)))
    assert replayed["candidates"][0]["judgement"]["after"] > 0
    sampled = json_of(example)["candidates"][0]["judgement"]
    assert sampled["runs"] > 1, "without a trace runs are reconstructed"


def test_a_candidate_that_the_replay_finds_useless_is_told(example: Path, tmp_path: Path) -> None:
    words = trace(tmp_path, LOCK_ALONE)
    assert "nothing: replayed, no order of its members has fewer misses\n" in text_of(example, *words)
    assert "saves     0% of the misses of the profile" in text_of(example, *words, "--candidate", "1")


@pytest.mark.parametrize(
    ("steps", "dropped", "sentence"),
    [
        (ELSEWHERE, 0, "the trace has no access to any of the 1 objects that are or hold a struct"),
        (CONFLICT, 50, "but the trace was full before the end: the last 20.0% of its accesses are missing"),
    ],
    ids=("no such objects", "full"),
)
def test_what_a_trace_cannot_tell_is_said(
    example: Path, tmp_path: Path, steps: list[Step], dropped: int, sentence: str
) -> None:
    assert sentence in " ".join(text_of(example, *trace(tmp_path, steps, dropped=dropped), "--full").split())


def test_an_object_that_only_the_code_identifies_is_replayed_like_one_that_the_profile_knows(
    example: Path, tmp_path: Path
) -> None:
    words = trace(tmp_path, CONFLICT)
    (tmp_path / "bench").symlink_to(example / "bench")
    profiles = [example / name for name in ("profile.json", "no-areas.json")]
    for given in profiles:
        (profile,) = read_profiles(given)
        recording = Recording("qemu-user", ("bench",), (0, 0), "x86_64")
        (tmp_path / given.name).write_bytes(formats.encode(replace(profile, recording=recording)))
    known, identified = (
        json.loads(text_of(tmp_path, *words, "--format", "json", profile=one.name))["candidates"][0]["judgement"]
        for one in profiles
    )
    assert known["before"] > known["after"]
    assert identified == known


@pytest.fixture
def recording(example: Path, tmp_path: Path) -> Path:
    """A profile that was recorded with the trace beside it."""
    (profile,) = read_profiles(example / "profile.json")
    of_program = replace(profile, recording=Recording("qemu-user", ("bench",), (0, 0), "x86_64"))
    place = tmp_path / "storm"
    trace = write_trace(place_of_trace(place), CONFLICT, (0, 0))
    place.write_bytes(formats.encode_for(with_trace(of_program, trace), place))
    return place


def replays(example: Path, profile: Path, *words: str | Path) -> tuple[bool, str]:
    """Whether ``suggest`` replays a trace, and what it says on standard error."""
    done = linesmith("suggest", example / "bench", profile, *words)
    assert done.returncode == 0, done.stderr
    return "changes are replayed on the trace" in done.stdout, done.stderr


def test_hot_shows_what_suggest_says_with_the_trace_that_is_there(
    example: Path, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def suggested() -> object:
        done = linesmith("hot", example / "bench", recording, "--format", "json")
        return json.loads(done.stdout)["records"][0]["suggested"]

    monkeypatch.setenv("LINESMITH_CACHE_DIR", str(recording.with_name("cache")))
    (profile,) = read_profiles(recording)
    trace = write_trace(place_of_trace(recording), LOCK_ALONE, (0, 0))
    recording.write_bytes(formats.encode_for(with_trace(profile, trace), recording))
    hidden = trace.rename(recording.with_name("hidden"))
    replays(example, recording)
    without = suggested()
    assert without is not None
    hidden.rename(trace)
    assert suggested() is None
    replays(example, recording)
    replayed = suggested()
    assert replayed not in (None, without)
    trace.rename(hidden)
    assert suggested() == without


def test_the_trace_beside_its_recording_is_replayed_and_one_elsewhere_is_named(example: Path, recording: Path) -> None:
    assert replays(example, recording) == (True, "")
    moved = place_of_trace(recording).rename(recording.with_name("elsewhere"))
    assert replays(example, recording, "--trace", moved) == (True, "")
    nowhere = (
        f"linesmith: the trace is not replayed: {place_of_trace(recording)}, the trace of {recording}, does not exist; "
    )
    assert replays(example, recording) == (False, f"{nowhere}name it with --trace\n")


@pytest.mark.parametrize("kind", ["foreign", "cut"])
def test_another_trace_is_left_alone_and_refused_where_it_is_named(example: Path, recording: Path, kind: str) -> None:
    place = place_of_trace(recording)
    place.write_bytes(place.read_bytes()[:-8])
    if kind == "foreign":
        write_trace(place, CONFLICT + ELSEWHERE, (0, 0))
    why = f"{place} is not the trace of {recording}: it belongs to another recording, or"
    replayed, said = replays(example, recording)
    assert (replayed, said.count("\n"), f"the trace is not replayed: {why}" in said) == (False, 1, True)
    done = linesmith("suggest", example / "bench", recording, "--trace", place)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{why} is damaged; name the right" in done.stderr


def test_a_profile_that_knows_no_trace_takes_none_unless_it_is_named(example: Path, recording: Path) -> None:
    (profile,) = read_profiles(recording)
    assert profile.recording is not None
    recording.write_bytes(formats.encode(replace(profile, recording=replace(profile.recording, trace=""))))
    assert replays(example, recording) == (False, "")
    assert replays(example, recording, "--trace", place_of_trace(recording)) == (True, "")


def test_a_trace_is_never_written_over_and_a_damaged_one_is_one_sentence(example: Path, tmp_path: Path) -> None:
    word, path = trace(tmp_path, CONFLICT)
    before = path.read_bytes()
    assert suggest(example, word, path, "-o", path).returncode == 2
    assert path.read_bytes() == before
    path.write_bytes(before[:-8])
    done = suggest(example, word, path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "record it again" in done.stderr


def test_a_lock_in_copies_is_replayed_as_the_best_case(example: Path, tmp_path: Path) -> None:
    words = ("--type", "session_index", "--shard", "guard", "--by", "node")
    said = text_of(example, *trace(tmp_path, LOCK_ALONE, (0, 1)), *words)
    rows = said[said.index("shard guard") :].splitlines()
    assert rows[0] == "shard guard of session_index: 2 copies, chosen by node"
    assert rows[1].startswith("  saves     100% of the misses of the profile (80%")
    assert rows[-2].startswith("  - The best case: every access goes to one copy")
    copies = ("--type", "session_index", "--shard", "guard,count", "--ways", "4", "--by", "cpu")
    document = json_of(example, *trace(tmp_path, CONFLICT), *copies)
    assert (document["sharded"]["members"], document["sharded"]["ways"]) == (["guard", "count"], 4)


@pytest.mark.parametrize(
    ("copies", "sentence"),
    [
        ("gaurd", "struct session_index has no member gaurd; did you mean guard?"),
        (",", "--shard names no member; give the lock and the members that it protects"),
        ("guard", "are on one node and would use one copy; use --by cpu"),
    ],
)
def test_copies_of_what_is_not_there_are_refused(example: Path, tmp_path: Path, copies: str, sentence: str) -> None:
    done = suggest(example, *trace(tmp_path, CONFLICT), "--type", "session_index", "--shard", copies)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
