# SPDX-License-Identifier: GPL-2.0-or-later
"""Small trees to build: with make, with CMake, and one whose makefile answers to the targets of Kbuild that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from text_cases import files_in

from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.registry import builder

FILES = files_in(Path(__file__).with_suffix(".txt"))
SOURCES = {name: FILES[name] for name in ("queue.h", "queue.c", "main.c")}
MAKEFILE, CMAKE, KBUILD = (FILES[name] for name in ("Makefile", "CMakeLists.txt", "Kbuild.mk"))
KERNEL = {
    "Kbuild": "",
    "init/init_task.c": "const char salt[] = CONFIG_BUILD_SALT;\n",
    "scripts/Makefile.build": "",
    "Kconfig": "CONFIG_(A|B|DEBUG_INFO|BUILD_SALT)\n",
    "Makefile": KBUILD,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A tree that a builder builds: what it is made of, how, the product to look at, and what one object is called."""

    files: Mapping[str, str]
    recipe: Callable[[Path], Recipe]
    product: str


def _make(tree: Path) -> Recipe:
    return Recipe("command", tree, command="make -j{jobs}", products=("program",), jobs=2, seconds=300)


def _cmake(tree: Path) -> Recipe:
    line = "cmake -S . -B out -DCMAKE_BUILD_TYPE=RelWithDebInfo && cmake --build out -j{jobs}"
    return Recipe("command", tree, command=line, products=("out/program",), jobs=2, seconds=300)


def _kbuild(tree: Path) -> Recipe:
    return Recipe("kbuild", tree, base="tinyconfig", jobs=2, seconds=300)


CASES = {
    "make": Case(SOURCES | {"Makefile": MAKEFILE}, _make, "program"),
    "cmake": Case(SOURCES | {"CMakeLists.txt": CMAKE}, _cmake, "program"),
    "kbuild": Case(SOURCES | KERNEL, _kbuild, "vmlinux"),
}


@dataclass(frozen=True, slots=True)
class Bench:
    """A planted tree, the recipe for it, and where it is built; other processes can import it."""

    case: Case
    recipe: Recipe
    place: Workplace

    def build(self, variant: Variant) -> Built:
        """One build by the builder that the recipe names."""
        return builder(self.recipe.builder).build(self.recipe, variant, self.place, lambda _: None)

    def product(self, variant: Variant) -> Path:
        return self.build(variant).product(self.case.product)

    def content(self, variant: Variant) -> bytes:
        return self.product(variant).read_bytes()

    def artifacts(self) -> list[str]:
        return [path.name for path in self.place.artifacts.glob("[!.]*")]

    def forget(self) -> None:
        """Have the next build make everything in the warm folder again."""
        self.place.artifacts.rename(self.place.artifacts.with_name("old"))


def plant(files: Mapping[str, str], tree: Path) -> Path:
    """Write the files, in folders as needed; the tree."""
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tree
