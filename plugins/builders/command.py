# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds any project with its own command, run by the shell in a copy of its tree."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from linesmith.analyzer.base.errors import BuildFailed, TreeError
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.api import Tell
from linesmith.plugins.builders.building import BuildCommand, BuildJob, BuildPlan, Made, build, digest, package
from linesmith.plugins.builders.kbuild import salt_flags, version, wrap
from linesmith.plugins.builders.patches import check_fit


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
