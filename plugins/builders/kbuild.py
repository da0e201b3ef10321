# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a kernel with Kbuild, outside of its tree, in an object directory that stays warm."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.durable import replace
from linesmith.analyzer.errors import ToolMissing, TreeError
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.api import Tell
from linesmith.plugins.builders import kconfig
from linesmith.plugins.builders.building import Job, Made, Plan, build, digest
from linesmith.plugins.builders.compiler import cached, version
from linesmith.plugins.builders.complaint import package
from linesmith.plugins.builders.fitting import check_fit
from linesmith.plugins.builders.padding import padding
from linesmith.plugins.builders.running import Command
from linesmith.plugins.builders.sources import is_kernel

_TOOLS = ("make", "flex", "bison", "bc", "perl")
# Where an architecture (its name as of uname -m) leaves the image that boots.
_IMAGES = {
    "x86_64": ("x86", "bzImage", "arch/x86/boot/bzImage"),
    "aarch64": ("arm64", "Image", "arch/arm64/boot/Image"),
    "riscv64": ("riscv", "Image", "arch/riscv/boot/Image"),
    "s390x": ("s390", "bzImage", "arch/s390/boot/bzImage"),
    "ppc64le": ("powerpc", "vmlinux", "vmlinux"),
}
# Neither the clock nor who builds may make two builds of one source differ.
_SAME_FOR_ALL = (
    ("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 2026"),
    ("KBUILD_BUILD_USER", "linesmith"),
    ("KBUILD_BUILD_HOST", "linesmith"),
    ("KBUILD_BUILD_VERSION", "1"),
)
# A child of the sources, so that Kbuild names them `..` and ccache shares objects between workers.
_OBJECTS = "linesmith-objects"
_KCONFIG_FILES = ("Kconfig", "scripts/kconfig/", "Makefile")
_MOST_LOST = 8


@dataclass(frozen=True, slots=True)
class KbuildBuilder:
    """The builder of Linux kernels: products ``kernel``, the image that boots, and ``vmlinux``."""

    name: str = "kbuild"

    def obstacle(self, recipe: Recipe) -> str | None:
        """Why this builder cannot carry out the recipe here, a sentence without its full stop; ``None`` if it can."""
        if not is_kernel(recipe.tree):
            return f"{recipe.tree} is no kernel tree: it has no Kbuild and scripts/Makefile.build"
        if missing := _missing(recipe):
            return missing
        if platform.machine() not in _IMAGES:
            return f"kernels of {platform.machine()} are not known to this builder"
        if recipe.configuration and not recipe.configuration.is_file():
            return f"there is no configuration {recipe.configuration}"
        if not recipe.configuration and not recipe.base and not (recipe.tree / ".config").is_file():
            return f"{recipe.tree} has no .config; name a configuration, or a base such as tinyconfig"
        return _other_architecture(recipe)

    def products(self, recipe: Recipe) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        """The names of what ``build`` makes."""
        return ("kernel", "vmlinux")

    def commands(self, recipe: Recipe, variant: Variant) -> tuple[str, ...]:
        """The commands that ``build`` would run, as for a shell. Raises ``PatchRefused`` or ``TreeError``."""
        check_fit(recipe.tree, variant.patches)
        source = Path("WARM/source")
        made = (recipe.base,) if recipe.base else ()
        return tuple(str(_make(recipe, source, target)) for target in (*made, "olddefconfig", "prepare", _image()[1]))

    def build(self, recipe: Recipe, variant: Variant, place: Workplace, tell: Tell) -> Built:
        """The kernel and the vmlinux of this variant; raises what the protocol says."""
        if missing := _missing(recipe):
            raise ToolMissing(missing)
        if obstacle := self.obstacle(recipe):
            raise TreeError(obstacle)
        plan = Plan(
            compiler=version(_compiler(recipe)),
            inputs=(_own_configuration(recipe), platform.machine()),
            slot=f"kbuild-{digest((str(recipe.tree.resolve()),))[:12]}",
            purpose=str(recipe.tree.resolve()),
            appended=padding(variant.salt),
        )
        return build(recipe, variant, place, tell, plan, _made)


def _missing(recipe: Recipe) -> str | None:
    for program in (*_TOOLS, _compiler(recipe)):
        if shutil.which(program) is None:
            return f"{program} is not installed; install the package {package(program)}"
    return None


def _made(job: Job) -> Made:
    source = job.slot.copy.folder
    objects = source / _OBJECTS
    objects.mkdir(exist_ok=True)
    with job.slot.building():
        _configure(job, source, objects)
        job.run(_make(job.recipe, source, _image()[1]))
    return Made({"kernel": objects / _image()[2], "vmlinux": objects / "vmlinux"}, objects / ".config")


def _configure(job: Job, source: Path, objects: Path) -> None:
    """Bring about the configuration, unless the one that is there came from the same input."""
    told = _told_configuration(job.recipe)
    rules = (
        f"{path} {state}"
        for path, state in sorted(job.sources.files.items())
        if path.startswith(_KCONFIG_FILES) or "Kconfig" in path
    )
    patched = (patch for patch in job.variant.patches if "Kconfig" in patch)
    origin = digest((job.recipe.base, job.recipe.compiler, told, str(job.variant.salt), *rules, *patched))
    mark = job.slot.folder / "configured"
    if mark.is_file() and mark.read_text() == origin and (objects / ".config").is_file():
        return
    mark.unlink(missing_ok=True)
    config = objects / ".config"
    if job.recipe.base:
        job.run(_make(job.recipe, source, job.recipe.base))
        told = kconfig.merged(config.read_text(), told)
    config.write_text(kconfig.salted(told, job.variant.salt))
    job.run(_make(job.recipe, source, "olddefconfig"))
    _remark(job, _told_configuration(job.recipe), config.read_text())
    replace(mark, origin.encode())
    # Headers that everything includes: once they are there, a build that is stopped can go on.
    job.run(_make(job.recipe, source, "prepare"))


def _remark(job: Job, told: str, result: str) -> None:
    """Tell what of the configuration did not come about, and what the kernel will lack."""
    if lost := kconfig.lost(told, result):
        more = f" and {len(lost) - _MOST_LOST} more" if len(lost) > _MOST_LOST else ""
        job.tell(f"options that Kconfig decided otherwise: {', '.join(lost[:_MOST_LOST])}{more}")
    if "DEBUG_INFO" not in kconfig.options(result):
        job.tell("vmlinux will have no DWARF; set CONFIG_DEBUG_INFO_DWARF5=y in the configuration")


def _make(recipe: Recipe, source: Path, target: str) -> Command:
    compiler = _compiler(recipe)
    argv = (
        "make", "-C", str(source), f"O={source / _OBJECTS}", f"-j{recipe.jobs or len(os.sched_getaffinity(0))}",
        *_llvm(compiler), f"CC={cached(compiler)}", f"HOSTCC={cached(compiler)}",
        *_same_names(source, recipe.tree.resolve()), target,
    )  # fmt: skip
    return Command(argv, source, (*_SAME_FOR_ALL, ("CCACHE_BASEDIR", str(source))))


def _same_names(source: Path, tree: Path) -> tuple[str, ...]:
    """What has DWARF name the user's own tree, so that builds of two workers are the same to the last bit.

    Kbuild's rules do not quote the flags; a tree with unusual characters in its path goes without.
    """
    flag = f"-fdebug-prefix-map={source}={tree}"
    return (f"KCFLAGS={flag}", f"KAFLAGS={flag}") if shlex.quote(flag) == flag else ()


def _compiler(recipe: Recipe) -> str:
    return recipe.compiler or "gcc"


def _llvm(compiler: str) -> tuple[str, ...]:
    """What has Kbuild take all tools of LLVM, and those of clang's version (Documentation/kbuild/llvm.rst)."""
    name = Path(compiler).name
    return (f"LLVM={name.removeprefix('clang') or '1'}",) if name.startswith("clang") else ()


def _image() -> tuple[str, str, str]:
    return _IMAGES[platform.machine()]


def _own_configuration(recipe: Recipe) -> str:
    """The tree's ``.config``, where the recipe names nothing else."""
    if recipe.configuration or recipe.base:
        return ""
    return (recipe.tree / ".config").read_text("utf-8", "surrogateescape")


def _told_configuration(recipe: Recipe) -> str:
    if recipe.configuration:
        return recipe.configuration.read_text("utf-8", "surrogateescape")
    return _own_configuration(recipe)


def _other_architecture(recipe: Recipe) -> str | None:
    if recipe.base:
        return None
    told = kconfig.architecture(_told_configuration(recipe))
    own = _image()[0]
    if told in (None, own) or (own == "x86" and told in ("i386", "x86_64")):
        return None
    return f"the configuration is for {told} and this machine builds for {own}; cross-compilation is not supported"
