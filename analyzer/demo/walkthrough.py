# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipeline on the example program, one chapter after the other, from its layout to the race of both versions.

Both versions run in turns on the same CPUs; the judge of ``bench`` and ``tune`` says what the figures allow to say.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from linesmith.analyzer.base import child
from linesmith.analyzer.base.errors import ToolMissing, VerificationFailed
from linesmith.analyzer.demo import program
from linesmith.analyzer.demo.program import CpuChoice, ThreadPlacement, here
from linesmith.analyzer.layouts.dwarf import Reading
from linesmith.analyzer.model import (
    Better,
    Comparison,
    Finding,
    Metric,
    Patch,
    Profile,
    Rules,
    Sample,
    Use,
    VerdictKind,
)
from linesmith.analyzer.report import hot, pahole, suggest
from linesmith.analyzer.report.candidate import Proposed, Suggested
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.sharing.records import contention_by_record
from linesmith.patches.edit.patch import confirm, file_text, patch_of
from linesmith.patches.source.tree import Tree
from linesmith.tuner.constraints.freedom import Premises
from linesmith.tuner.judge.verdict import compare
from linesmith.tuner.propose.candidates import MOST_JUDGED, answers
from linesmith.tuner.propose.steps import step_tables
from linesmith.tuner.replay.judged import judged, sampled

TYPE = "session_index"
APPLY_SECONDS = 60
ROUNDS = 20
MILLISECONDS = 150
RUN_SECONDS = 60
_METRICS = tuple(Metric(name, "per second", Better.HIGHER) for name in ("lookups_per_second", "renewals_per_second"))
_RACE = Use("race")
_MILLION = 1e6
_ANSWERS = {
    VerdictKind.BETTER: "The change helps here: {ratio:.2f} times the lookups per second.",
    VerdictKind.WORSE: "The change does not help here: only {ratio:.2f} times the lookups per second.",
    VerdictKind.NO_DIFFERENCE: "No difference in lookups per second.",
    VerdictKind.TOO_NOISY: "The runs differ too much for a result; try again on an idle machine.",
}


@dataclass(frozen=True, slots=True)
class Workshop:
    """A scratch directory with the example's sources, compiled as they come."""

    directory: Path
    compiler: str

    @property
    def before(self) -> Path:
        """Sources and executable as they come."""
        return self.directory / "before"

    @property
    def after(self) -> Path:
        """The copy that the patch is applied to."""
        return self.directory / "after"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading with its text; ``is_diff`` marks text whose lines begin with plus and minus."""

    title: str
    text: str
    is_diff: bool = False


def open_workshop(directory: Path) -> Workshop:
    """Unpack the example and compile it; raises ``ToolMissing`` without a compiler."""
    workshop = Workshop(directory, program.find_compiler())
    program.unpack(workshop.before)
    program.build(workshop.before, workshop.compiler)
    return workshop


def chapters(
    workshop: Workshop, about: str, reading: Reading, profile: Profile, found: Sequence[Finding]
) -> Iterator[Chapter]:
    """Everything after the reading of both files; each chapter is made when it is asked for.

    ``about`` says where the profile comes from. Raises ``NothingToSuggest``, ``EditRefused``,
    ``VerificationFailed`` or ``ToolMissing``.
    """
    identity = replace(reading.identity, path="bench")
    profile = replace(profile, source=Path(profile.source).name)
    records = contention_by_record(found, profile, reading.layouts)
    yield Chapter("A small program", _the_program(workshop.compiler))
    yield Chapter("Its layout", pahole.render_text(reading.layouts.variants(TYPE), reading.layouts))
    yield Chapter("What a profile shows", about + hot.render_table(records, identity, ProfileSection(profile, 1, 1)))
    premises = Premises()
    proposed_first = answers(found[:1], reading.layouts, premises, limit=MOST_JUDGED)
    (answer,) = judged(proposed_first, sampled(proposed_first, found, profile, reading.layouts, premises))
    candidates = answer.candidates[:1]
    steps = tuple(step_tables(found[0], one, reading.layouts) for one in candidates)
    proposed = Proposed(found[0], candidates, steps, declined=answer.declined)
    suggested = Suggested(identity, profile.source, reading.layouts, (proposed,), tuple(found), records=records)
    yield Chapter("The smallest change", suggest.render_text(suggested))
    tree = Tree(workshop.before, cflags=" ".join(program.FLAGS))
    patch = patch_of(candidates[0], found[0], tree, 1, confirm(candidates[0], tree, lambda _: None))
    yield Chapter("The patch", f"{patch.diff}\nVerified: {patch.verified}\n", is_diff=True)
    _apply(patch, workshop)
    choice = here()
    yield Chapter("Before and after, on this machine", _announcement(choice))
    yield Chapter("", race_text(race(workshop.before / "bench", workshop.after / "bench", choice), choice))


def _the_program(compiler: str) -> str:
    return f"""\
A server keeps sessions in a search tree. Many threads look sessions up without a lock; one thread renews
sessions, each time under the lock of the tree. Readers begin at `root`, writers at `guard`.

$ {" ".join(program.compile_command(compiler))}
"""


def _announcement(choice: CpuChoice) -> str:
    cpus = ", ".join(map(str, sorted(set(choice.cpus))))
    seconds = 2 * ROUNDS * MILLISECONDS / 1000
    # Other work that runs already blurs the figures.
    load = os.getloadavg()[0]
    busy = f"Other work is running (load average {load:.1f}), which adds noise.\n" if load >= 1 else ""
    return f"""\
Both versions now run in turns, {ROUNDS} times each, {seconds:.0f} s in all, one thread renewing and \
{len(choice.cpus) - 1} looking up.
CPUs used: {choice.count} ({cpus}); {choice.placement.value}.
{busy}"""


def _apply(patch: Patch, workshop: Workshop) -> None:
    """Apply the patch to a copy of the sources and compile that."""
    shutil.copytree(workshop.before, workshop.after)
    file = workshop.directory / "example.patch"
    file.write_bytes(file_text(patch))
    argv = ("patch", "--strip=1", "--batch", f"--input={file}")
    ended = child.run(child.Command(argv, workshop.after, APPLY_SECONDS))
    if ended.status != 0:
        raise VerificationFailed(f"the patch of the example does not apply: {ended.output.strip()}")
    program.build(workshop.after, workshop.compiler)


# The race.


def race(before: Path, after: Path, choice: CpuChoice) -> tuple[Sample, ...]:
    """Run both executables in turns, ``ROUNDS`` times each; who begins changes from round to round.

    Raises ``VerificationFailed`` when a run fails or hangs.
    """
    samples = []
    for number in range(ROUNDS):
        sides = (("before", before), ("after", after))
        for name, executable in sides if number % 2 == 0 else reversed(sides):
            figures = _run(executable, choice)
            samples += [
                Sample(name, _RACE.label, one.name, choice.count, figures[one.name], number, 0) for one in _METRICS
            ]
    return tuple(samples)


def _run(executable: Path, choice: CpuChoice) -> dict[str, float]:
    """The figures of one run, with one thread per CPU of the choice, by their names."""
    argv = (str(executable), str(MILLISECONDS), *map(str, choice.cpus))
    try:
        ended = child.run(child.Command(argv, executable.parent, RUN_SECONDS))
    except ToolMissing as error:
        raise VerificationFailed(f"{executable} cannot be run; set TMPDIR to a directory without noexec") from error
    if ended.status != 0:
        raise VerificationFailed(f"the example program ended with status {ended.status}: {ended.output.strip()}")
    return {name: float(value) for name, value in map(str.split, ended.output.splitlines())}


def race_text(samples: Sequence[Sample], choice: CpuChoice) -> str:
    """A table of both operations, means in millions per second with minimum and maximum, and the answer."""
    rules = Rules(confidence=0.95)
    found = [compare(samples, one, _RACE, choice.count, "before", "after", rules) for one in _METRICS]
    rows = [
        f"{'million per second':<20}{'before':^26}{'after':^26}{'after / before':^26}",
        *map(_row, found),
        "",
        f"Means of {found[0].blocks} runs (lowest … highest); ratios of neighbouring runs (95 % interval).",
        _ANSWERS[found[0].verdict].format(ratio=found[0].ratio),
    ]
    if choice.placement is not ThreadPlacement.CORES:
        rows.append(f"Note: {choice.placement.value}.")
    return "\n".join(rows) + "\n"


def _row(one: Comparison) -> str:
    ratio = f"{one.ratio:.2f} ({one.low:.2f} … {one.high:.2f})"
    operation = one.metric.name.partition("_")[0]
    return f"{operation:<20}{_spread(one.base):^26}{_spread(one.head):^26}{ratio:^26}{one.verdict.value}"


def _spread(values: Sequence[float]) -> str:
    low, middle, high = (value / _MILLION for value in (min(values), fmean(values), max(values)))
    return f"{middle:.1f} ({low:.1f} … {high:.1f})"
