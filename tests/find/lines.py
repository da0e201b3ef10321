# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a profile written as text, and tables of cases (``cases/*.txt``) that say what is found on them.

A case is a title with indented lines below it: what is given (``word: value``; accesses have no word), and behind
``=>`` what must be found, with ``|`` between two on a line. An access is ``OFFSET FUNCTION [LOADS[/STORES]] [@PATH]``:
100 contended loads where nothing is said, ``-`` for a function without a name, and ``@PATH`` for the instruction of it
that touches this member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from subprocess import check_output
from typing import Any, NamedTuple

import pytest

from linesmith.analyzer.access.access_map import AccessMap
from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.attribution.evidence import function_names
from linesmith.analyzer.attribution.identify import identified, open_objects
from linesmith.analyzer.attribution.line_objects import is_kernel
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.layouts.containment import Containment
from linesmith.analyzer.layouts.dwarf import Reading, operands, read_layouts, touched
from linesmith.analyzer.model import (
    CACHE_LINE_BYTES,
    Access,
    Bounds,
    CacheLine,
    Finding,
    LineObject,
    ObjectArea,
    ObjectKind,
    Outcome,
    Profile,
    Triage,
)
from linesmith.analyzer.sharing.findings import code_evidence, findings

LINE = 0x1000
Built = Callable[..., Path]
Instructions = Callable[[str, str], int]


class Case(NamedTuple):
    """What is given and what must be found, by its word."""

    given: Mapping[str, str]
    expected: Mapping[str, str]


def cases(table: str) -> pytest.MarkDecorator:
    """Runs a test with each case of a table, under its title."""
    found: list[tuple[str, Case]] = []
    rows = Path(__file__).with_name("cases").joinpath(f"{table}.txt").read_text().splitlines()
    for row in rows:
        if not row.startswith(" "):
            found.append((row, Case({}, {})))
            continue
        side = int(row.strip().startswith("=> "))
        for text in row.strip().removeprefix("=> ").split(" | "):
            word, colon, value = text.partition(": ") if side or ": " in text else ("rows", ": ", text)
            assert colon, row
            found[-1][1][side][word] = value  # type: ignore[index]
    assert all(case.expected for _, case in found)
    return pytest.mark.parametrize("case", [case for _, case in found], ids=[title for title, _ in found])


def check(case: Case, facts: Mapping[str, str]) -> None:
    """What is found is what the case says, with ``none`` for an empty text."""
    found = {word: facts[word] or "none" for word in case.expected}
    assert found == case.expected, f"found: {found}"


def accesses(text: str, instruction: Instructions | None = None) -> tuple[Access, ...]:
    return tuple(_access(one.split(), instruction) for one in text.split(",") if one.strip())


def _access(words: list[str], instruction: Instructions | None) -> Access:
    at, name, *more = words
    code = None
    if more and more[-1].startswith("@"):
        assert instruction is not None
        code = instruction(name, more.pop()[1:])
    loads, slash, stores = (more[0] if more else "100").partition("/")
    function = None if name == "-" else name
    taken = int(stores) if slash else None
    return Access(int(at, 0), function, hitm_local=int(loads), stores_l1_hit=taken, code_address=code)


def line_of(met: Sequence[Access], address: int | None = LINE, rank: int = 0, **more: Any) -> CacheLine:
    """A line with these accesses; its counts are theirs."""
    counts = {"hitm_local": sum(one.contended for one in met), "stores_l1_hit": sum(one.stores for one in met)}
    return CacheLine(rank, address, tuple(met), **(counts | more))


def profile_of(*lines: CacheLine, **more: Any) -> Profile:
    return Profile("test", "", "hitm", lines, **more)


def explained(elf: Path | None, profile: Profile, **more: Any) -> tuple[Finding, ...]:
    """What is found on each line by the debug information of a file, or where there is none."""
    if elf is None:
        return findings(profile, LayoutTable([]), (), **more)
    asked = function_names(profile)
    said, layouts = (touched(elf, *asked), operands(elf, *asked)), read_layouts(elf).layouts
    objects = open_objects(profile, is_kernel(layouts))
    how = more.get("accesses"), more.get("same_build", False)
    known = identified(profile, objects, code_evidence(objects, profile, Containment(layouts), *said, *how))
    return findings(replace(profile, areas=known.areas), layouts, *said, votes=known.votes, **more)


def areas_of(text: str) -> tuple[ObjectArea, ...]:
    """Memory that a snapshot knows: ``slab NAME FROM BYTES [TYPE]``, with commas between, ``FROM`` within the line."""
    return tuple(_area(*one.split()) for one in text.split(",") if one.strip())


def _area(kind: str, name: str, begin: str, size: str, *types: str) -> ObjectArea:
    return ObjectArea(ObjectKind(kind), name, LINE + int(begin, 0), int(size), int(size), 1, types)


def bounds(found: Bounds) -> str:
    """Both limits, or the one where they are equal."""
    least, most = f"{found.least:.4g}", f"{found.most:.4g}"
    return least if least == most else f"{least} to {most}"


def object_told(one: LineObject) -> str:
    """The type and where it begins, with the outcome where it is not resolved."""
    doubt = "" if one.outcome is Outcome.RESOLVED else f" ({one.outcome})"
    return f"{one.type or '?'} at {one.start}{doubt}"


def facts(found: Finding) -> dict[str, str]:
    """All that a case may say of a finding."""
    first, members = found.objects[0], found.members
    return {
        "objects": "; ".join(map(object_told, found.objects)),
        "containers": ", ".join(first.containers),
        "runner-up": first.runner_up.type if first.runner_up else "none",
        "runner-up begins": str(first.runner_up.start) if first.runner_up else "none",
        "origin": "; ".join(one.origin for one in found.objects),
        "reason": first.reason,
        "misfits": str(len(first.misfits)),
        "members": ", ".join(one.called for one in members),
        "written": "; ".join(f"{one.path}: {one.write_inferred or one.writes}" for one in members if one.written),
        "instructions": ", ".join(text for one in members for text in one.instructions),
        "outcomes": ", ".join(f"{count} {outcome}" for outcome, count in found.outcomes),
        "agreements": ", ".join(f"{count} {agreement}" for agreement, count in found.agreements),
        **diagnosis(found.triage),
        **costs(found),
    }


def diagnosis(triage: Triage) -> dict[str, str]:
    """What a case may say of a diagnosis."""
    return {
        "kinds": ", ".join(triage.kinds),
        "pairs": ", ".join(f"{one.first} with {one.second}: {one.weight} by {one.writer}" for one in triage.pairs),
        "sentence": triage.sentence,
        "reasons": "; ".join(triage.reasons),
        "last reason": "".join(triage.reasons[-1:]),
        "last": "".join(triage.reasons[-1:]).partition(" and would miss in its place")[0],
        "times": "".join(one.partition(";")[0] for one in triage.reasons if "times" in one),
    }


def costs(found: Finding) -> dict[str, str]:
    """What a case may say of the cost."""
    cost = found.cost
    return {
        "removable": f"{bounds(cost.removable)} of {cost.contended}",
        "removable cycles": bounds(cost.removable_cycles),
        "cycles": f"{cost.cycles:g}, slow {cost.slow_cycles:g}, {'timed' if cost.timed else 'as usual'}",
        "other half": bounds(cost.adjacent),
        "share": bounds(cost.share),
        "waits": "; ".join(
            f"{one.victim.member} for {one.writer.member} {bounds(one.contended)}"
            + (f" in {one.span}" if one.span != CACHE_LINE_BYTES else "")
            for one in cost.sharings
        ),
        "note": cost.notes[0] if cost.notes else "",
    }


class Build:
    """A compiled file with what is known of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reading: Reading = read_layouts(path)
        self.accesses: AccessMap = read_accesses(path).accesses
        self.symbols = symbols_of(path)


def symbols_of(path: Path) -> dict[str, int]:
    rows = (line.split() for line in check_output(["nm", path], text=True).splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
