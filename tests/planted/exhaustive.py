# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures every layout of a plan's search space: `python tests/planted/exhaustive.py PLAN TABLE --work DIR`.

The table is what tests/bench/optimizer_trials.py searches in place of the machine. Measured again, a layout keeps the
figures that it has: `--blocks` more are added.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Built, Point, TunePlan, Variant, Workplace
from linesmith.analyzer.sharing.analysis import explain
from linesmith.patches.edit.patch import confirm, patch_of
from linesmith.patches.source.tree import Tree
from linesmith.plugins import registry
from linesmith.tuner.run.plan_file import read_plan
from linesmith.tuner.run.simulated import recorded
from linesmith.tuner.space.proposals import RecordProposals, proposals

# Layouts between two runs of the baseline.
BETWEEN = 6
RUN_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Layout:
    """A point of the space that was built."""

    point: Point
    key: str
    built: Built


@dataclass(frozen=True, slots=True)
class Survey:
    """A whole space: what was built of it, and why the rest was not."""

    plan: TunePlan
    found: RecordProposals
    baseline: Built
    layouts: tuple[Layout, ...]
    failures: dict[str, str]


def survey(plan: TunePlan, work: Path) -> Survey:
    """Record the baseline and build all that the space holds."""
    place = Workplace(work / "warm", work / "artifacts")
    baseline = _built(plan, Variant("baseline"), place)
    found = _proposals(plan, baseline, work)
    layouts = []
    failures = {_named(point): _kind(reason) for point, reason in found.legality.refused.items() if any(point)}
    for point in found.legality.options:
        try:
            variant = Variant(_named(point), (_diff(plan, found, point),))
            layouts.append(Layout(point, found.key(point), _built(plan, variant, place)))
        except LinesmithError as error:
            failures[_named(point)] = str(error)
    return Survey(plan, found, baseline, tuple(layouts), failures)


def _built(plan: TunePlan, variant: Variant, place: Workplace) -> Built:
    return registry.builder(plan.recipe.builder).build(plan.recipe, variant, place, _unheard)


def _proposals(plan: TunePlan, baseline: Built, work: Path) -> RecordProposals:
    evidence = plan.evidence
    if evidence is None:
        raise SystemExit("the plan records nothing")
    profile = recorded(baseline, evidence, work / "recording", 1, _unheard)
    elf = baseline.product(evidence.elf)
    reading = read_layouts(elf)
    findings = explain(reading, profile).findings
    return proposals(findings, reading.layouts, plan.search)


def _diff(plan: TunePlan, found: RecordProposals, point: Point) -> str:
    tree = Tree(plan.recipe.tree)
    candidate = found.candidates(point)[0]
    return patch_of(candidate, found.finding(point), tree, 1, confirm(candidate, tree, _unheard)).diff


def _named(point: Point) -> str:
    return ",".join(map(str, point))


def _kind(reason: str) -> str:
    """What a reason comes to: a table has hundreds of them."""
    return "too large" if " would grow " in reason else "no layout of its own"


def _unheard(_progress: str) -> None:
    """Nobody watches."""


def on_cpus(survey: Survey, blocks: int) -> Iterator[tuple[str, float]]:
    """Key and cost of each run: the rate of the baseline, run before and after a few layouts, over the layout's."""
    for _ in range(blocks):
        shuffled = random.sample(survey.layouts, len(survey.layouts))
        before = _rate(survey.plan, survey.baseline)
        for first in range(0, len(shuffled), BETWEEN):
            rates = [(one.key, _rate(survey.plan, one.built)) for one in shuffled[first : first + BETWEEN]]
            after = _rate(survey.plan, survey.baseline)
            yield from ((key, (before + after) / 2 / rate) for key, rate in rates)
            before = after


def _rate(plan: TunePlan, built: Built) -> float:
    """What the plan's first benchmark says of one run."""
    use = plan.benchmarks[0]
    settings = dict(use.settings)
    program = registry.benchmark(use.benchmark)
    words = program.steps(settings, use.threads[0], built.directory)[-1].command
    places = {f"{{{name}}}": str(path) for name, path in built.products}
    command = [places.get(word, word) for word in words]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=RUN_SECONDS).stdout
    return float(printed.split()[-1])


def table(survey: Survey, measured: dict[str, list[float]], title: str) -> dict[str, object]:
    """The space with what is known of each of its points."""
    space = survey.found.space
    return {
        "title": title,
        "dimensions": [{"name": one.name, "choices": list(one.choices)} for one in space.dimensions],
        "priors": [list(point) for point in space.priors],
        "values": {_named(one.point): [round(cost, 4) for cost in measured[one.key]] for one in survey.layouts},
        "estimates": {_named(one.point): round(survey.found.estimate(one.point), 4) for one in survey.layouts},
        "failures": survey.failures,
    }


def text_of(document: dict[str, object]) -> str:
    """The document as JSON with one line for each part."""
    parts = (f"{json.dumps(name)}: {json.dumps(part, separators=(',', ':'))}" for name, part in document.items())
    return "{" + ",\n ".join(parts) + "}\n"


def kept(file: Path) -> dict[str, list[float]]:
    """Costs by layout, as earlier calls left them."""
    measured: dict[str, list[float]] = {}
    with suppress(FileNotFoundError):
        for line in file.read_text().splitlines():
            key, cost = json.loads(line)
            measured.setdefault(key, []).append(cost)
    return measured


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="builds and figures are kept here")
    parser.add_argument("--blocks", type=int, default=8, help="runs of each layout to add")
    given = parser.parse_args(arguments)
    work = given.work.absolute()
    found = survey(read_plan(given.plan), work)
    file = work / "benchmark.jsonl"
    with file.open("a") as log:
        for key, cost in on_cpus(found, given.blocks):
            print(json.dumps([key, cost]), file=log, flush=True)
    given.table.write_text(text_of(table(found, kept(file), f"{given.plan.stem}, benchmark")))


if __name__ == "__main__":
    main()
