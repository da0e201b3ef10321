# SPDX-License-Identifier: GPL-2.0-or-later
"""From two versions of a tree to what the lint looks at: only what declares changed records is compiled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.intent import symbols_in
from linesmith.analyzer.layouts import LayoutTable
from linesmith.analyzer.lint import Linted
from linesmith.analyzer.lint.group_docs import FOLDER, group_docs
from linesmith.analyzer.model import GroupDoc
from linesmith.analyzer.rules import Side
from linesmith.analyzer.slab import Kernel
from linesmith.patches.confinement import is_confinable
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.workers import each
from linesmith.patches.preparation import Progress
from linesmith.patches.versions.compiling import Both, compiled_both
from linesmith.patches.versions.declaring import Declaring, declaring
from linesmith.patches.versions.environments import EnvironmentOf, Recipe, environments, readable
from linesmith.patches.versions.initialised import initialised
from linesmith.patches.versions.join import joined, of_a_kernel
from linesmith.patches.versions.versions import Versions

# Files that declare changed records, each of which takes a second or two.
MOST_FILES = 400


@dataclass(frozen=True, slots=True)
class Sources:
    """What the lint looks at, and the symbols of the kernel's configuration (``None``: not known, or no kernel)."""

    linted: Linted
    configuration: frozenset[str] | None = None


def sources(versions: Versions, recipe: Recipe, asked_for: Collection[str], progress: Progress) -> Sources:
    """The records that differ between the versions, and those called ``asked_for`` where they are seen.

    Raises ``TreeError``, ``ToolMissing``, and ``VerificationFailed`` for a second version that does not compile.
    """
    found = declaring(versions, asked_for)
    of = environments(versions.root, recipe, progress)
    compiled, failed = _compiled(versions, found[:MOST_FILES], of, recipe, progress)
    both = joined(compiled, asked_for)
    environment = _first(of, found)
    linted = Linted(
        versions.head,
        _side(both.new, environment),
        both.pairs,
        versions.base,
        _side(both.old, environment),
        both.compared,
        both.changed,
        initialised(versions, both.pairs, progress),
        documented(versions),
        (*versions.remarks, *failed, *_limits(found), *(environment.build.remarks if environment else ())),
    )
    return Sources(linted, _symbols(environment))


def _first(of: EnvironmentOf, found: Sequence[Declaring]) -> Environment | None:
    """How the files are compiled, those of a kernel before the programs beside it."""
    known = [of(one.file) for one in found]
    return max(known, key=lambda one: bool(one.folder), default=None)


def _side(layouts: LayoutTable, environment: Environment | None) -> Side:
    if environment is None or not environment.folder:
        return Side(layouts, slabs=False)
    return Side(of_a_kernel(layouts), Kernel(environment.slabs) if environment.slabs else Kernel())


def _compiled(
    versions: Versions, found: Sequence[Declaring], of: EnvironmentOf, recipe: Recipe, progress: Progress
) -> tuple[list[Both], list[str]]:
    if not found:
        return [], []
    of(found[0].file)  # what has to be prepared is prepared before several ask for it
    progress(f"compiling {len(found)} files of {versions.base} and of {versions.head}")

    def one(declaring: Declaring) -> Both | str:
        environment = of(declaring.file)
        places = readable(environment, versions.root, recipe.tree.build)
        return compiled_both(versions, environment, declaring.file, declaring.title, places)

    results = each(one, found, lambda done: progress(f"{done} of {len(found)} compiled"))
    return [one for one in results if isinstance(one, Both)], [one for one in results if isinstance(one, str)]


def _limits(found: Sequence[Declaring]) -> Iterator[str]:
    if len(found) > MOST_FILES:
        yield f"{len(found) - MOST_FILES} of {len(found)} changed files were not compiled"
    if found and not is_confinable():
        yield "the compiler was not confined, because this system has no Landlock: it could read any file"


def documented(versions: Versions) -> dict[str, GroupDoc]:
    """The tables of groups as the second version has them."""
    folder = versions.root / FOLDER
    kept = [f"{FOLDER}/{one.name}" for one in folder.glob("*.rst")] if folder.is_dir() else []
    files = {*kept, *(one.file for one in versions.changes if one.file.startswith(f"{FOLDER}/"))}
    texts = {file: text for file in files if (text := versions.now(file)) is not None}
    return group_docs({file: text.decode("utf-8", "replace") for file, text in texts.items()})


def _symbols(environment: Environment | None) -> frozenset[str] | None:
    prepared = environment.build.preparation if environment else None
    return symbols_in(prepared.configured().text) if prepared else None
