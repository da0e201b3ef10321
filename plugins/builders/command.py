# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds any project with its own command, run by the shell in a copy of its tree.

Wrappers under the compilers' own names add what a build must have, whatever the project's makefiles say. A placebo is
the same source with other code alignment: each function, loop and jump target may begin elsewhere, so code and data of
the program lie elsewhere, while the layout of every record is as before. See ``-falign-functions`` in gcc(1).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.errors import BuildFailed, TreeError
from linesmith.analyzer.base.files import replace_file
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.api import Tell
from linesmith.plugins.builders.building import BuildCommand, BuildJob, BuildPlan, Made, build, digest, package
from linesmith.plugins.builders.kbuild import version
from linesmith.plugins.builders.working_copy import check_fit

_COMPILER = re.compile(r"(cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(-\d+)?")
_OF_FUNCTIONS = (32, 64, 128)
_OF_LOOPS = (1, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class CommandBuilder:
    """The builder of projects that have a build of their own; a product's name is that of its file."""

    name: str = "command"

    def obstacle(self, recipe: Recipe) -> str | None:
        """Why this builder cannot carry out the recipe here, a sentence without its full stop; ``None`` if it can."""
        if not recipe.tree.is_dir():
            return f"{recipe.tree} is not a folder; name the source tree"
        if not recipe.command.strip():
            return "there is no command to build with; give one, such as `make -j{jobs}`"
        if not recipe.products:
            return "no products are named; name the files that the command makes"
        for product in recipe.products:
            parts = PurePosixPath(product).parts
            if not parts or ".." in parts or parts[0] == "/":
                return f"the product {product!r} is no path within the tree"
        if len({Path(product).name for product in recipe.products}) < len(recipe.products):
            return "two products have the same file name; rename one"
        if recipe.compiler and shutil.which(recipe.compiler) is None:
            return f"{recipe.compiler} is not installed; install the package {package(recipe.compiler)}"
        return None

    def products(self, recipe: Recipe) -> tuple[str, ...]:
        """The names of what ``build`` makes."""
        return tuple(Path(product).name for product in recipe.products)

    def commands(self, recipe: Recipe, variant: Variant) -> tuple[str, ...]:
        """The commands that ``build`` would run, as for a shell. Raises ``PatchRefused`` or ``TreeError``."""
        check_fit(recipe.tree, variant.patches)
        return (str(_command(recipe, variant, Path("WARM"))),)

    def build(self, recipe: Recipe, variant: Variant, place: Workplace, tell: Tell) -> Built:
        """The products of this variant; raises what the protocol says."""
        compiler = version(recipe.compiler or "cc") if recipe.compiler or shutil.which("cc") else ""
        if obstacle := self.obstacle(recipe):
            raise TreeError(obstacle)
        tree = str(recipe.tree.resolve())
        plan = BuildPlan(
            compiler=compiler,
            inputs=(),
            slot=f"command-{digest((tree,))[:12]}{'-salted' if variant.salt else ''}",
            # Make does not notice that flags have changed: such a build begins anew.
            purpose=digest((tree, recipe.command, recipe.compiler, compiler, str(variant.salt))),
        )
        return build(recipe, variant, place, tell, plan, _made)


def _made(job: BuildJob) -> Made:
    copy = job.slot.copy
    held = copy.held()
    products = {Path(product).name: copy.folder / product for product in job.recipe.products}
    same_names = f"-fdebug-prefix-map={copy.folder}={job.sources.tree}"
    wrap(job.slot.folder / "bin", job.recipe.compiler, (same_names, *salt_flags(job.variant.salt)))
    with job.slot.building():
        for product in job.recipe.products:
            # What an earlier build left must not pass for what this one makes.
            if product not in held:
                (copy.folder / product).unlink(missing_ok=True)
        job.run(_command(job.recipe, job.variant, job.slot.folder))
        for product in job.recipe.products:
            if not (copy.folder / product).is_file():
                raise BuildFailed(f"the command ended well but made no {product}; see {job.log}")
    return Made(products)


def _command(recipe: Recipe, variant: Variant, slot: Path) -> BuildCommand:
    source = slot / "source"
    jobs = recipe.jobs or len(os.sched_getaffinity(0))
    line = recipe.command.replace("{jobs}", str(jobs)).replace("{salt}", str(variant.salt))
    variables = [
        ("CCACHE_BASEDIR", str(source)),
        ("SOURCE_DATE_EPOCH", "1767225600"),
        ("LINESMITH_SALT", str(variant.salt)),
        ("LINESMITH_CFLAGS", " ".join(salt_flags(variant.salt))),
    ]
    if recipe.compiler:
        variables.append(("CC", Path(recipe.compiler).name))
    return BuildCommand(("sh", "-c", line), source, tuple(variables), slot / "bin")


def salt_flags(salt: int) -> tuple[str, ...]:
    """The compiler flags of a placebo: 15 sets that differ, then again; none for salt 0."""
    if not salt:
        return ()
    loops, functions = divmod(salt - 1, len(_OF_FUNCTIONS))
    return (f"-falign-functions={_OF_FUNCTIONS[functions]}", f"-falign-loops={_OF_LOOPS[loops % len(_OF_LOOPS)]}")


def wrap(folder: Path, compiler: str, flags: Sequence[str]) -> None:
    """Put a wrapper that adds ``flags`` for every compiler of ``PATH``, and for ``compiler``, into ``folder``.

    Raises ``OSError``.
    """
    folder.mkdir(exist_ok=True)
    ccache = shutil.which("ccache")
    for name, program in _compilers(folder, compiler).items():
        words = [*((ccache,) if ccache else ()), program]
        text = f'#!/bin/sh\nexec {shlex.join(words)} "$@" {shlex.join(flags)}\n'
        wrapper = folder / name
        if not wrapper.is_file() or wrapper.read_text() != text:
            replace_file(wrapper, text.encode(), 0o777)


def _compilers(own: Path, compiler: str) -> Mapping[str, str]:
    """Name and path of every compiler: the first of its name in ``PATH``, past ccache's own links.

    A ``compiler`` that is asked for stands for the usual ones, which makefiles name.
    """
    found: dict[str, str] = {}
    if chosen := shutil.which(compiler) if compiler else None:
        found = dict.fromkeys((Path(compiler).name, "cc", "gcc"), chosen)
    for folder in map(Path, os.get_exec_path()):
        if folder == own or folder.name == "ccache" or not folder.is_dir():
            continue
        for path in sorted(folder.iterdir()):
            if _COMPILER.fullmatch(path.name) and os.access(path, os.X_OK):
                found.setdefault(path.name, str(path))
    return found
