# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a kernel with Kbuild, outside of its tree, in an object directory that stays warm.

A kernel's configuration may be a fragment laid over a base (see Kconfig's language). A placebo of a kernel gets padding
near the beginning of its code and data, behind which all else has moved: one small object is compiled again, so that
costs little more than a link, and the layout of every record is as before.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.child import Command, run_apart
from linesmith.analyzer.base.errors import CommandTimedOut, ToolMissing, TreeError
from linesmith.analyzer.base.files import replace_file
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.api import Tell
from linesmith.plugins.builders.building import BuildCommand, BuildJob, BuildPlan, Made, build, digest, package
from linesmith.plugins.builders.sources import is_kernel
from linesmith.plugins.builders.working_copy import check_fit

_SET = re.compile(r"^CONFIG_(\w+)=(.*)$")
_UNSET = re.compile(r"^# CONFIG_(\w+) is not set$")
# It is in every kernel, and among the first in the order of linking (init/Makefile).
_FILE = "init/init_task.c"
# Bytes: smaller steps would be lost in the alignment of functions; 255 places in a page occur before one comes again.
_STEP = 16
_PLACES = 255
# Neighbouring salts shall differ in the place in the line and in the line.
_STRIDE = 37
_SOURCE = """
static void __attribute__((__used__, __noinline__)) linesmith_code(void)
{{
	__asm__ volatile(".skip {size}, 0x90");
}}
static char linesmith_data[{size}] __attribute__((__used__, __aligned__({step}))) = {{1}};
static char linesmith_zeroed[{size}] __attribute__((__used__, __aligned__({step})));
"""
_SECONDS = 30
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


def options(text: str) -> Mapping[str, str]:
    """The value of every option that the text sets, as written; ``n`` for those that it switches off."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.match(line.strip()):
            found[match[1]] = match[2].strip()
        elif match := _UNSET.match(line.strip()):
            found[match[1]] = "n"
    return found


def merged(base: str, fragment: str) -> str:
    """The base with the fragment's options in place of its own."""
    settings = options(fragment)
    others = [line for line in base.splitlines() if not options(line).keys() & settings.keys()]
    lines = (
        f"# CONFIG_{name} is not set" if value == "n" else f"CONFIG_{name}={value}" for name, value in settings.items()
    )
    return "\n".join((*others, *lines, ""))


def lost_options(fragment: str, result: str) -> tuple[str, ...]:
    """The options of the fragment that the resulting configuration has otherwise, a few words for each."""
    result_options = options(result)
    pairs = ((name, value, result_options.get(name, "n")) for name, value in options(fragment).items())
    return tuple(f"CONFIG_{name} is {now}, not {value}" for name, value, now in pairs if now != value)


def padding(salt: int) -> Mapping[str, str]:
    """The text that a salt appends to a file of the kernel's tree, by its path; none for salt 0."""
    if not salt:
        return {}
    return {_FILE: _SOURCE.format(size=_STEP * (salt * _STRIDE % _PLACES + 1), step=_STEP)}


def version(compiler: str) -> str:
    """The first line of the compiler's ``--version``. Raises ``ToolMissing``."""
    try:
        said = run_apart(Command((compiler, "--version"), Path.cwd(), _SECONDS, variables=os.environ)).output
    except (ToolMissing, CommandTimedOut) as error:
        raise ToolMissing(f"{compiler} cannot be run; install the package {package(compiler)}") from error
    return said.decode("utf-8", "replace").partition("\n")[0].strip()


def cached(compiler: str) -> str:
    """The compiler as make calls it: behind ccache where that is installed."""
    return f"ccache {compiler}" if shutil.which("ccache") else compiler


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
        plan = BuildPlan(
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


def _made(job: BuildJob) -> Made:
    source = job.slot.copy.folder
    objects = source / _OBJECTS
    objects.mkdir(exist_ok=True)
    with job.slot.building():
        _configure(job, source, objects)
        job.run(_make(job.recipe, source, _image()[1]))
    return Made({"kernel": objects / _image()[2], "vmlinux": objects / "vmlinux"}, objects / ".config")


def _configure(job: BuildJob, source: Path, objects: Path) -> None:
    """Bring about the configuration, unless the one that is there came from the same input."""
    configuration = _start_configuration(job.recipe)
    rules = (
        f"{path} {state}"
        for path, state in sorted(job.sources.files.items())
        if path.startswith(_KCONFIG_FILES) or "Kconfig" in path
    )
    patched = (patch for patch in job.variant.patches if "Kconfig" in patch)
    origin = digest((job.recipe.base, job.recipe.compiler, configuration, str(job.variant.salt), *rules, *patched))
    mark = job.slot.folder / "configured"
    if mark.is_file() and mark.read_text() == origin and (objects / ".config").is_file():
        return
    mark.unlink(missing_ok=True)
    config = objects / ".config"
    if job.recipe.base:
        job.run(_make(job.recipe, source, job.recipe.base))
        configuration = merged(config.read_text(), configuration)
    if job.variant.salt:
        configuration = merged(configuration, f'CONFIG_BUILD_SALT="linesmith-{job.variant.salt}"')
    config.write_text(configuration)
    job.run(_make(job.recipe, source, "olddefconfig"))
    result = config.read_text()
    if lost := lost_options(_start_configuration(job.recipe), result):
        job.tell(f"options that Kconfig decided otherwise: {listed(lost, _MOST_LOST)}")
    if "DEBUG_INFO" not in options(result):
        job.tell("vmlinux will have no DWARF; set CONFIG_DEBUG_INFO_DWARF5=y in the configuration")
    replace_file(mark, origin.encode())
    # Headers that everything includes: once they are there, a build that is stopped can go on.
    job.run(_make(job.recipe, source, "prepare"))


def _make(recipe: Recipe, source: Path, target: str) -> BuildCommand:
    compiler = _compiler(recipe)
    name = Path(compiler).name
    # All tools of LLVM, and those of clang's version (Documentation/kbuild/llvm.rst).
    llvm = (f"LLVM={name.removeprefix('clang') or '1'}",) if name.startswith("clang") else ()
    # DWARF names the user's own tree, so that builds of two workers are the same to the last bit. Kbuild's rules do not
    # quote the flags; a tree with unusual characters in its path goes without.
    flag = f"-fdebug-prefix-map={source}={recipe.tree.resolve()}"
    same_names = (f"KCFLAGS={flag}", f"KAFLAGS={flag}") if shlex.quote(flag) == flag else ()
    argv = (
        "make", "-C", str(source), f"O={source / _OBJECTS}", f"-j{recipe.jobs or len(os.sched_getaffinity(0))}",
        *llvm, f"CC={cached(compiler)}", f"HOSTCC={cached(compiler)}",
        *same_names, target,
    )  # fmt: skip
    return BuildCommand(argv, source, (*_SAME_FOR_ALL, ("CCACHE_BASEDIR", str(source))))


def _compiler(recipe: Recipe) -> str:
    return recipe.compiler or "gcc"


def _image() -> tuple[str, str, str]:
    return _IMAGES[platform.machine()]


def _own_configuration(recipe: Recipe) -> str:
    """The tree's ``.config``, where the recipe names nothing else."""
    if recipe.configuration or recipe.base:
        return ""
    return (recipe.tree / ".config").read_text("utf-8", "surrogateescape")


def _start_configuration(recipe: Recipe) -> str:
    if recipe.configuration:
        return recipe.configuration.read_text("utf-8", "surrogateescape")
    return _own_configuration(recipe)


def _other_architecture(recipe: Recipe) -> str | None:
    if recipe.base:
        return None
    # The first lines of a .config name the architecture.
    named = re.search(r"^# Linux/(\w+) .*Kernel Configuration$", _start_configuration(recipe)[:400], re.MULTILINE)
    theirs, own = named[1] if named else None, _image()[0]
    if theirs in (None, own) or (own == "x86" and theirs in ("i386", "x86_64")):
        return None
    return f"the configuration is for {theirs} and this machine builds for {own}; cross-compilation is not supported"
