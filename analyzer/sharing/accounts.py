# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples in equal samples out: where every sample of a profile ended, by outcome, and by who is to blame.

``blames`` names who took the line from whom: a recording's conflicts, counted by the members of both sides.
``recorded_from`` names the machine and the workload.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from linesmith.analyzer.attribution.line_objects import cpus_of
from linesmith.analyzer.attribution.variables import lines_apart
from linesmith.analyzer.model import Access, CacheLine, Conflict, Finding, Outcome, Profile, SampleOutcome
from linesmith.analyzer.sharing.cost import unlisted
from linesmith.analyzer.sharing.parts import origin

LEFT_OUT = "on lines not looked at"
SET_APART = "on lines set apart"
NO_ROW = "in no row of their line"
NO_LINE = "on lines that the profile left out"
OTHER_TYPE = "on lines that do not hold the type asked for"
# As many as `--cpus` takes.
MOST_CPUS = 1 << 16
# Characters of a command, and of one within a sentence.
_COMMAND, _SHORT_COMMAND = 1000, 60
# A path of somebody's machine; those of the system's folders are the same everywhere.
_PRIVATE = re.compile(r"(?<![^\s'\"=:])/(?!(?:bin|sbin|lib|lib64|usr|etc|dev|proc|sys)/)(?:[^\s/'\"]+/)+")


@dataclass(frozen=True, slots=True)
class SampleAccounts:
    """``samples`` that a profile has, and how many ended where; the counts of ``outcomes`` add up to them."""

    samples: int
    outcomes: tuple[tuple[str, int], ...]


def samples_of(access: Access) -> int:
    """Samples of one row: all of them where the profile says so, else those it has columns for."""
    return max(access.records or 0, access.contended + access.stores)


def _line_samples(line: CacheLine) -> int:
    """Samples of a line: never fewer than its rows have and those of them that were left out."""
    return max(line.records or 0, sum(map(samples_of, line.accesses)) + unlisted(line))


def accounts(profile: Profile, found: Sequence[Finding], left_out: Iterable[CacheLine]) -> SampleAccounts:
    """Where the samples of the profile ended, given the findings about its lines and the lines not looked at."""
    ended: Counter[str] = Counter()
    for finding in found:
        ended.update({outcome.value: count for outcome, count in finding.samples})
    not_looked_at, apart = {id(line) for line in left_out}, lines_apart(profile)
    for line in profile.lines:
        if id(line) in not_looked_at:
            ended[SET_APART if line.address in apart else LEFT_OUT] += _line_samples(line)
        else:
            ended[NO_ROW] += _line_samples(line) - sum(map(samples_of, line.accesses))
    on_lines = sum(map(_line_samples, profile.lines))
    ended[OTHER_TYPE] += on_lines - sum(ended.values())
    recorded = dict(profile.sampling.outcomes) if profile.sampling else {}
    shared = max(on_lines, recorded.pop(SampleOutcome.SHARED_LINE, on_lines))
    ended[NO_LINE] += shared - on_lines
    ended.update({outcome.value: count for outcome, count in recorded.items()})
    outcomes = tuple((name, count) for name, count in ended.most_common() if count)
    return SampleAccounts(shared + sum(recorded.values()), outcomes)


def type_of(finding: Finding) -> str:
    """The record or variable on the line; ``""`` where it is not known or no sure answer."""
    first = finding.objects[0] if finding.objects else None
    if first is None or not (first.variable or first.outcome in (Outcome.RESOLVED, Outcome.INNER_TYPE_ONLY)):
        return ""
    return first.type or first.variable


def place_of(finding: Finding) -> tuple[str, int] | None:
    """The type and the byte of the object with which the line begins: lines of one place are alike."""
    return (type_of(finding), -finding.objects[0].start) if type_of(finding) else None


@dataclass(frozen=True, slots=True)
class Blame:
    """Misses on ``victim`` because ``writer`` was written; both are names of top members.

    ``misses`` are all of them, ``false`` those in which no byte of the victim's own had been written elsewhere.
    ``shadowed`` counts accesses to the victim that hit only because a miss on another member had just brought the
    line back, ``false_shadowed`` those of them to bytes that nobody had written. The functions are those of the
    heaviest conflict.
    """

    victim: str
    writer: str
    misses: int
    false: int
    shadowed: int
    false_shadowed: int
    victim_function: str
    writer_function: str


def blames(conflicts: Sequence[Conflict], names: Mapping[int, str]) -> tuple[Blame, ...]:
    """Conflicts added up by members, heaviest first; ``names`` gives the top member at an offset in the line."""
    grouped: dict[tuple[str, str], list[Conflict]] = {}
    for one in conflicts:
        victim, writer = (names.get(offset, f"{offset:#x}") for offset in (one.offset, one.writer_offset))
        grouped.setdefault((victim, writer), []).append(one)
    summed = (_blame(victim, writer, group) for (victim, writer), group in grouped.items())
    return tuple(sorted(summed, key=lambda one: (-one.misses, -one.shadowed, one.victim, one.writer)))


def false_misses(found: Sequence[Blame]) -> Counter[frozenset[str]]:
    """False-sharing misses by the two members that meet, whichever of them suffers; shadowed ones are meant too.

    Whatever a CPU touches first on a line suffers the miss. Were that member elsewhere, the next one would.
    """
    counts: Counter[frozenset[str]] = Counter()
    for one in found:
        if one.victim != one.writer:
            counts[frozenset((one.victim, one.writer))] += one.false + one.false_shadowed
    return counts


def _blame(victim: str, writer: str, group: Sequence[Conflict]) -> Blame:
    heaviest = max(group, key=lambda one: one.misses + one.shadowed)
    return Blame(
        victim,
        writer,
        sum(one.misses for one in group),
        sum(one.misses for one in group if not one.true_sharing),
        sum(one.shadowed for one in group),
        sum(one.shadowed for one in group if not one.true_sharing),
        heaviest.function or "[unknown]",
        heaviest.writer_function or "[unknown]",
    )


def machine_cpus(profile: Profile, usual: int) -> int:
    """For how many CPUs the slabs of the profiled machine are made: as many as the profile says there are.

    Where it only names those sampled, ``usual`` or as many as these need.
    """
    said = cpus_of(profile)
    if said is not None:
        return min(max(said, 1), MOST_CPUS)
    found = [origin((access,)) for line in profile.lines for access in line.accesses]
    highest = (cpu + 1 for one in found for cpu in one.cpus or ())
    return min(max((usual, *(one.count or 0 for one in found), *highest)), MOST_CPUS)


def recorded_from(profile: Profile, *, another_build: bool = False) -> tuple[str, str]:
    """The machine and the workload as a noun with its article; the command that ran, empty where it is not known."""
    recording, sampling = profile.recording, profile.sampling
    words = shlex.join(recording.command) if recording else sampling.command if sampling else ""
    # In one line, without the folders of somebody's machine.
    command = textwrap.shorten(_PRIVATE.sub("", " ".join(words.split())), _COMMAND, placeholder="...")
    running = f"running {textwrap.shorten(command, _SHORT_COMMAND, placeholder=' ...')}" if command else ""
    if recording is not None:
        kernel = f"Linux {recording.kernel_release}" if recording.kernel_release else ""
        where = ", ".join(filter(None, (recording.on, kernel, running)))
        return f"a simulation of {len(recording.nodes)} CPUs and their caches ({where})", command
    build = " of another build than the ELF file" if another_build else ""
    if sampling is None:
        seen = max((access.cpus or 0 for line in profile.lines for access in line.accesses), default=0)
        cpus = f" with samples of {seen} CPUs" if seen > 1 else ""
        return f"a perf c2c report{build}{',' if build and cpus else ''}{cpus} (workload not named)", ""
    facts = [f"{sampling.cpus} CPUs" if sampling.cpus else "", f"Linux {sampling.release}" if sampling.release else ""]
    where = ", ".join(filter(None, (*facts, running)))
    return f"a perf profile{build}{f' ({where})' if where else ''}", command
