# SPDX-License-Identifier: GPL-2.0-or-later
"""From two versions of a tree to what the lint looks at: only what declares changed records is compiled."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from linesmith.analyzer.lint import Linted
from linesmith.analyzer.model import FileChange
from linesmith.analyzer.rules import Side
from linesmith.analyzer.slab import Kernel
from linesmith.patches.confinement import is_confinable
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.matrix.workers import each
from linesmith.patches.preparation import Progress
from linesmith.patches.redeclared import redeclared
from linesmith.patches.versions.compiling import Both, code_of, compiled_both
from linesmith.patches.versions.environments import EnvironmentOf, Recipe, environments, readable
from linesmith.patches.versions.join import Joined, joined
from linesmith.patches.versions.versions import Versions

# Files that declare changed records, each of which takes a second or two.
MOST_FILES = 400
_DEFINES = re.compile(rb"#\s*define\s+\w+(?:\\\n|[^\n])*|\benum\b[^;{}]*\{[^{}]*\}|\btypedef\b[^;{}]*;")


@dataclass(frozen=True, slots=True)
class Declaring:
    """A file to compile, and the record that must be in it, as C names it; empty where any will do."""

    file: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """What the lint looks at; ``remarks`` are whole sentences on what could not be judged."""

    linted: Linted
    remarks: tuple[str, ...]


def declaring(versions: Versions) -> tuple[Declaring, ...]:
    """The files that declare a record otherwise than before, or that say how large one is, in their order."""
    return tuple(one for change in versions.changes for one in _declaring(change))


def _declaring(change: FileChange) -> Iterator[Declaring]:
    if change.after is None or not change.file.endswith((".h", ".c")):
        return
    if change.before is None or code_of(change.before) == code_of(change.after):
        return
    records = redeclared(change)
    if records:
        yield Declaring(change.file, records[0].title)
    elif change.file.endswith(".h") and _defined(change.before) != _defined(change.after):
        yield Declaring(change.file)


def _defined(source: bytes) -> Counter[bytes]:
    """What a header defines beside records: numbers of elements, types of members."""
    return Counter(b" ".join(one.split()) for one in _DEFINES.findall(source))


def sources(versions: Versions, recipe: Recipe, asked_for: Collection[str], progress: Progress) -> Sources:
    """The records that differ between the versions, and those called ``asked_for`` where they are seen.

    Raises ``TreeError``, ``ToolMissing``, and ``VerificationFailed`` for a second version that does not compile.
    """
    found = declaring(versions)
    of = environments(versions.root, recipe, progress)
    compiled, failed = _compiled(versions, found[:MOST_FILES], of, recipe, progress)
    both = joined(compiled, asked_for)
    remarks = (*versions.remarks, *failed, *_limits(found))
    return Sources(_linted(versions, both, of, found), remarks)


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


def _linted(versions: Versions, both: Joined, of: EnvironmentOf, found: Sequence[Declaring]) -> Linted:
    kernel = _kernel(of(found[0].file)) if found else Kernel()
    sides = Side(both.old, kernel), Side(both.new, kernel)
    return Linted(versions.head, sides[1], both.pairs, versions.base, sides[0], both.compared, both.changed)


def _kernel(environment: Environment) -> Kernel:
    return Kernel(environment.slabs) if environment.slabs else Kernel()
