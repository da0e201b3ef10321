# SPDX-License-Identifier: GPL-2.0-or-later
"""What every builder does around its own commands: know the sources, take turns, copy, patch, and keep the products."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from linesmith.analyzer.base import durable
from linesmith.analyzer.errors import DiskFull, OutputError
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.api import Tell
from linesmith.plugins.builders import census
from linesmith.plugins.builders.artifacts import Artifacts
from linesmith.plugins.builders.complaint import failure
from linesmith.plugins.builders.running import Command, run
from linesmith.plugins.builders.slot import Slot, occupied
from linesmith.plugins.builders.working_copy import bring, patched

# Changes when builds of the same input would come out differently than before.
_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a builder makes of a recipe before it touches anything.

    ``compiler`` is the compiler's first line, ``inputs`` all else that a build depends on beside recipe, sources and
    patches. ``slot`` names the place in the warm folder, which is emptied when its ``purpose`` changes. ``appended``
    has what the salt adds to files of the copy.
    """

    compiler: str
    inputs: tuple[str, ...]
    slot: str
    purpose: str
    appended: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """What a builder's commands left in the slot: products by name, and the configuration's file, if there is one."""

    products: Mapping[str, Path]
    configuration: Path | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One build in its slot; ``deadline`` is a time of ``time.monotonic``, ``commands`` gathers what was run."""

    recipe: Recipe
    variant: Variant
    sources: census.Census
    slot: Slot
    log: Path
    deadline: float
    tell: Tell
    commands: list[str] = field(default_factory=list)

    def run(self, command: Command) -> None:
        """Run it to its end; raises ``BuildFailed``, ``CompilerKilled``, ``DiskFull`` or ``ToolMissing``."""
        self.commands.append(str(command))
        if status := run(command, self.log, self.deadline, self.slot.lock):
            raise failure(self.log, status)
        self.slot.trust()


Make = Callable[[Job], Made]


def build(recipe: Recipe, variant: Variant, place: Workplace, tell: Tell, plan: Plan, make: Make) -> Built:
    """The artifact of this input, made by ``make`` unless it is there. Raises what ``Builder.build`` does."""
    with _writing(f"{place.warm} and {place.artifacts}"):
        place = Workplace(place.warm.resolve(), place.artifacts.resolve())
        place.artifacts.mkdir(parents=True, exist_ok=True)
        sources = _census(recipe.tree.resolve(), place)
        key = key_of(recipe, variant, sources, plan)
        store = Artifacts(place.artifacts)
        if found := store.find(key, sources.digest()):
            return found
        with store.turn(key) as draft:
            if found := store.find(key, sources.digest()):
                return found
            changed = patched(sources, variant.patches, plan.appended)
            with occupied(place.warm / plan.slot, plan.purpose) as slot:
                started = time.monotonic()
                written = bring(slot.copy, sources, changed)
                tell(f"building {variant.name}: {written} source files differ from the last build")
                job = Job(recipe, variant, sources, slot, store.log(key), started + recipe.seconds, tell)
                made = make(job)
                built = _built(job, key, plan, made, started, store)
                return store.commit(draft, built, made.products, made.configuration)


@contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn what the system says about our files into ``DiskFull`` or ``OutputError``."""
    try:
        yield
    except OSError as error:
        place = error.filename or what
        if error.errno in durable.FULL:
            raise DiskFull(f"no space is left for {place}; free some and resume") from error
        raise OutputError(f"{place} cannot be written ({error.strerror}); choose another folder") from error


def _census(tree: Path, place: Workplace) -> census.Census:
    """The sources of the tree, in which the run directory itself may lie."""
    ours = {place.warm, place.artifacts, place.artifacts.parent} - {tree}
    return census.take(tree, place.artifacts / ".trees" / digest((str(tree),)), ours)


def _built(job: Job, key: str, plan: Plan, made: Made, started: float, store: Artifacts) -> Built:
    content = made.configuration.read_bytes() if made.configuration else b""
    return Built(
        key=key,
        directory=store.folder / key,
        products=(),
        compiler=plan.compiler,
        configuration=hashlib.blake2b(content, digest_size=16).hexdigest() if content else "",
        commands=tuple(job.commands),
        seconds=time.monotonic() - started,
        sources=job.sources.digest(),
    )


def key_of(recipe: Recipe, variant: Variant, sources: census.Census, plan: Plan) -> str:
    """The digest of all that the products depend on; jobs and time limit are not of that kind."""
    configuration = recipe.configuration.read_text("utf-8", "surrogateescape") if recipe.configuration else ""
    told = (recipe.builder, recipe.base, recipe.command, recipe.compiler, digest(recipe.products))
    made_of = (sources.digest(), digest(variant.patches), str(variant.salt))
    return digest((_FORMAT, *told, plan.compiler, configuration, digest(plan.inputs), *made_of))


def digest(parts: Iterable[str]) -> str:
    """One digest of several texts; where one ends and the next begins counts."""
    total = hashlib.blake2b(digest_size=16)
    for part in parts:
        encoded = part.encode("utf-8", "surrogateescape")
        total.update(len(encoded).to_bytes(8, "little"))
        total.update(encoded)
    return total.hexdigest()
