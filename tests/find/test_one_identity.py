# SPDX-License-Identifier: GPL-2.0-or-later
"""One recording, every command: the same objects, counts, phases and words.

``objects.c``: channels in kmalloc-cg-192 and rows of slots in kmalloc-cg-1k, of which no snapshot tells the type, and
handles in a cache that serves others too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from find.lines import Built
from linesmith_command import linesmith
from replay.traces import Step, turns, write_trace

from linesmith.analyzer.access.questions import accesses_in
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import (
    Access,
    AccessKind,
    CacheLine,
    Conflict,
    CpuCounts,
    ObjectArea,
    ObjectKind,
    Profile,
    Recording,
)
from linesmith.analyzer.sharing.analysis import explain
from linesmith.plugins.profiles import formats
from linesmith.plugins.registry import read_profiles
from linesmith.tuner.replay.simulated import MeasuredRecord, RecordedMembers, simulated_metrics

pytestmark = pytest.mark.xdist_group("one-identity")
CHANNELS, SLOTS, HANDLES, TOTAL = (0xFFFF_8880_0400_0000 + number * 0x4000 for number in range(4))
AREAS = (
    ObjectArea(ObjectKind.SLAB, "kmalloc-cg-192", CHANNELS, 192, 192, 21),
    ObjectArea(ObjectKind.SLAB, "kmalloc-cg-1k", SLOTS, 1024, 1024, 4),
    ObjectArea(ObjectKind.SLAB, "handles", HANDLES, 256, 256, 16, ("other", "handle"), ("handle",)),
    ObjectArea(ObjectKind.GLOBAL, "total", TOTAL, 8, 8, 1),
)


class Touch(NamedTuple):
    """Who touches which member of the object that begins there, on a CPU, so often without and with a miss."""

    start: int
    function: str
    path: str
    cpu: int
    misses: int


# Of a channel, readers of its size wait for writers of its head; of a slot those of its length for writers of a page.
CHANNEL = ("push", "head", 0, 1), ("pull", "size", 1, 3), ("pull", "users", 1, 1)
TOUCHES = (
    *(
        Touch(CHANNELS + 192 * number, function, path, cpu, each * times)
        for number, times in ((0, 40), (1, 20), (5, 2))
        for function, path, cpu, each in CHANNEL
    ),
    *(
        Touch(SLOTS + 40 * number, *touch)
        for number in range(3)
        for touch in (("fill", "page", 0, 9), ("drain", "length", 1, 8))
    ),
    *(
        Touch(HANDLES + 256, *touch)
        for touch in (("put", "count", 0, 15), ("put", "late.func", 0, 4), ("node", "inode", 1, 12))
    ),
    *(Touch(TOTAL, "add", "", cpu, 5) for cpu in (0, 1)),
)
WRITERS = {"pull": "head", "drain": "page", "node": "count", "add": ""}


class Recorded(NamedTuple):
    """The program, what was recorded of it, and the folder with its sources."""

    elf: Path
    profile: Path
    trace: Path
    folder: Path

    def json(self, *words: str | Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(said(words[0], self.elf, self.profile, *words[1:], "--format", "json"))
        return found


@cache
def said(*words: str | Path) -> str:
    """What a command prints; each runs once, for several tests look at one answer."""
    done = linesmith(*words)
    assert (done.returncode, done.stdout != "") == (0, True), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    elf = built("objects.c", "-O1", "-static", "-nostdlib", "-Wl,--build-id,-e0")
    folder = tmp_path_factory.mktemp("recorded")
    code = read_accesses(elf).accesses
    layouts = read_layouts(elf).layouts

    def met(touch: Touch) -> tuple[int, int, bool]:
        """The instruction, the byte and whether it writes."""
        rows = [one for each in accesses_in(touch.function, code) for one in each.accesses if one.path == touch.path]
        if touch.start == TOTAL:
            return rows[0].address, TOTAL, True
        record = {"p": "channel", "f": "slot", "d": "slot", "n": "handle"}[touch.function[0]]
        record = "handle" if touch.function == "put" else record
        outer = layouts.variants(record)[0]
        offset = next((one.offset for one in outer.members if one.name == touch.path.partition(".")[0]), 0)
        offset += 8 if touch.path == "late.func" else 0
        writes = any(one.kind is not AccessKind.READ for one in rows)
        return rows[0].address, touch.start + offset, writes

    lines: dict[int, list[Access]] = {}
    conflicts: dict[int, list[Conflict]] = {}
    steps = []
    for touch in TOUCHES:
        address, byte, writes = met(touch)
        width = 4 if touch.path in ("length", "offset") else 8
        stores, loads = (2 * touch.misses, 0) if writes else (0, 2 * touch.misses)
        access = Access(
            *(byte % 64, touch.function),
            stores_l1_hit=stores,
            records=stores + loads,
            code_address=address,
            kernel=True,
            width=width,
            by_cpu=(CpuCounts(touch.cpu, 0, loads, stores, touch.misses),),
            taken=touch.misses if writes else None,
            hitm_local=None if writes else touch.misses,
        )
        lines.setdefault(byte // 64 * 64, []).append(access)
        steps.append((byte // 64, Step(touch.cpu, "S" if writes else "L", byte, width, address)))
        writer = next(
            (one for one in TOUCHES if one.start == touch.start and one.path == WRITERS.get(touch.function)), None
        )
        if writer is not None:
            at, where, _ = met(writer)
            met_here = Conflict(
                *(byte % 64, width, touch.function, where % 64, 8, writer.function),
                true_sharing=False,
                local=touch.misses,
                code_address=address,
                writer_code_address=at,
            )
            conflicts.setdefault(byte // 64 * 64, []).append(met_here)
    hottest = sorted(lines, key=lambda line: (-sum(one.contended for one in lines[line]), line))
    found = tuple(
        CacheLine(rank, line, tuple(lines[line]), conflicts=tuple(conflicts.get(line, ())), **_sums(lines[line]))
        for rank, line in enumerate(hottest, 1)
    )
    build_id = read_layouts(elf).identity.build_id
    how = Recording("qemu", ("storm",), (0, 0), "x86_64", kernel_release="6.1.0", build_id=build_id)
    profile = Profile("recording", "", "hitm", found, recording=how, areas=AREAS)
    (folder / "profile.json").write_bytes(formats.encode(profile))
    together = [step for _, step in sorted(steps, key=lambda one: one[0])]
    trace = write_trace(folder / "trace", turns(together, 50), (0, 0))
    (folder / "objects.c").write_text(Path(__file__).with_name("objects.c").read_text())
    return Recorded(elf, folder / "profile.json", trace, folder)


def _sums(accesses: Sequence[Access]) -> dict[str, Any]:
    return {
        "hitm_local": sum(one.hitm_local or 0 for one in accesses),
        "taken": sum(one.taken or 0 for one in accesses),
        "records": sum(one.records or 0 for one in accesses),
        "stores_l1_hit": sum(one.stores for one in accesses),
    }


def objects(document: dict[str, Any]) -> dict[int, list[tuple[str, str, int, str]]]:
    keys = ("type", "outcome", "start", "origin")
    return {line["rank"]: [tuple(one[key] for key in keys) for one in line["objects"]] for line in document["lines"]}


def test_objects_of_general_and_merged_caches_are_known_and_elements_of_arrays_are_objects(made: Recorded) -> None:
    found = {one[0] for line in objects(made.json("hot")).values() for one in line}
    assert found == {"channel", "slot", "handle", ""}
    places = {one["name"]: one["places"][0] for one in made.json("hot")["records"]}
    assert places == {
        "channel": "slab kmalloc-cg-192",
        "slot": "slab kmalloc-cg-1k",
        "handle": "slab handles",
        "total": "global total",
    }


@pytest.mark.parametrize("name", ["channel", "slot", "handle", "total"])
def test_each_name_of_the_table_is_a_filter_of_what_is_found(name: str, made: Recorded) -> None:
    whole, part = made.json("hot"), made.json("hot", "--type", name)
    holding = [line for line in whole["lines"] if name in (line["objects"][0]["type"], line["objects"][0]["variable"])]
    assert part["lines"] == holding
    assert {one["record"] for one in made.json("suggest", "--type", name)["records"]} == {name}


@pytest.mark.parametrize(("type_", "traced"), [("channel", False), ("channel", True), ("handle", True)])
def test_the_same_is_proposed_with_and_without_the_type(type_: str, traced: bool, made: Recorded) -> None:
    words = ("--trace", made.trace) if traced else ()
    whole, part = (made.json("suggest", *more, *words)["candidates"] for more in ((), ("--type", type_)))
    ours = [one for one in whole if one["type"] == type_]
    for one in (*ours, *part):
        del one["number"]
    assert part == ours
    assert ours


def test_the_cache_that_was_found_is_the_one_of_phases_and_memory(made: Recorded) -> None:
    first = made.json("suggest", "--type", "channel", "--trace", made.trace)["candidates"][0]
    proofs = {(one["place"], one["phases"]) for one in first["proofs"] if one["line_bytes"] == 64}
    assert proofs == {("kmalloc-cg-192", 1)}
    assert [one["cache"] for one in first["memory_before"]] == ["kmalloc-cg-192"]
    assert (first["judgement"]["objects"], first["judgement"]["refusal"]) == (3, "")


def test_a_comparison_with_itself_has_the_counts_of_the_lines(made: Recorded, tmp_path: Path) -> None:
    same = tmp_path / "same.json"
    same.write_bytes(made.profile.read_bytes())
    done = linesmith("compare", made.elf, made.profile, same, "--format", "json")
    changed = {one["type"]: one["change"] for one in json.loads(done.stdout)["objects"]}
    hot = made.json("hot")
    for type_ in ("channel", "handle", "slot"):
        lines = [one for one in hot["lines"] if one["objects"][0]["type"] == type_]
        contended = sum(line["contended"] for line in lines)
        assert (changed[type_]["before"], changed[type_]["after"]) == (contended, contended)


def test_the_metrics_of_a_benchmark_count_the_misses_of_the_findings(made: Recorded) -> None:
    (profile,) = read_profiles(made.profile)
    reading = read_layouts(made.elf)
    found = explain(reading, profile, map_of=lambda _: read_accesses(made.elf).accesses)
    for type_, misses in (("channel", 4 * 62), ("slot", 24), ("handle", 12)):
        places = RecordedMembers(type_, found.profile, reading.layouts, found.findings)
        assert dict(simulated_metrics(found.profile, places, MeasuredRecord(type_), 1))["type"] == misses


def test_one_alternative_of_a_union_is_named_everywhere(made: Recorded) -> None:
    (line,) = made.json("hot", "--type", "handle")["lines"]
    assert [one["path"] for one in line["members"]] == ["late.func", "inode", "count"]
    candidates = made.json("suggest", "--type", "handle", "--trace", made.trace)["candidates"]
    assert "mode" not in json.dumps([one["judgement"] for one in candidates])


def test_the_patch_is_the_recommended_change_with_and_without_the_type(made: Recorded) -> None:
    traced = "--trace", made.trace
    first = next(one for one in made.json("suggest", *traced)["candidates"] if one["recommended"])
    assert first["type"] == "channel"
    words = ("patch", made.elf, made.profile, *traced, "--tree", made.folder, "--dry-run")
    drafts = [linesmith(*words, *more) for more in ((), ("--type", "channel"), ("--candidate", first["name"]))]
    assert [one.returncode for one in drafts] == [0, 0, 0], drafts[0].stderr
    assert len({one.stdout for one in drafts}) == 1


def test_what_suggest_found_is_what_hot_shows_from_then_on(made: Recorded, tmp_path: Path) -> None:
    """Before, `hot` sends to the command for all records; then to the one of which there is a change."""

    def run(*words: str) -> str:
        done = linesmith(words[0], made.elf, made.profile, *words[1:], cache=tmp_path / "cache")
        assert done.returncode == 0, done.stderr
        return done.stdout

    before = run("hot")
    told = [one in before for one in (" share     false  ", "next: linesmith suggest", "--type")]
    assert told == [True, True, False]
    run("suggest", "--growth", "64")
    assert run("hot") == before, "what rests on options is not the usual answer"
    records = json.loads(run("suggest", "--format", "json"))["records"]
    after, changes = run("hot"), {one["record"]: one["changes"] for one in records}
    assert " share   suggest  " in after
    saved = {one: (found[0]["saves"] or {}).get("share", 0) for one, found in changes.items() if found}
    first = max(saved, key=lambda one: saved[one])
    assert re.search(rf"\nnext: linesmith suggest .*--type {first}\n", after.replace(" \\\n", ""))
    suggested = {one["name"]: one["suggested"] for one in json.loads(run("hot", "--format", "json"))["records"]}
    for record, found in changes.items():
        assert not found or found[0]["what"].replace("; ", ", ") in suggested[record]["what"]
