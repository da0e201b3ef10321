# SPDX-License-Identifier: GPL-2.0-or-later
"""Small trees to build: with make, with CMake, and one whose makefile answers to the targets of Kbuild that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Built, Recipe, Variant, Workplace
from linesmith.plugins.registry import builder

HEADER = "struct queue {\n\tlong head;\n\tlong tail;\n\tint lock;\n};\n\nlong length(const struct queue *queue);\n"
SOURCES = {
    "queue.h": HEADER,
    "queue.c": (
        '#include "queue.h"\n\n'
        "long length(const struct queue *queue)\n{\n"
        "\tlong sum = 0;\n\n"
        "\tfor (long at = queue->head; at < queue->tail; at++)\n\t\tsum += queue->lock ^ at;\n"
        "\treturn sum;\n}\n"
    ),
    "main.c": (
        '#include "queue.h"\n\n'
        "int main(int count, char **words)\n{\n"
        "\tstruct queue queue = {0, count, words[0][0]};\n\n"
        "\treturn (int)length(&queue);\n}\n"
    ),
}
MAKEFILE = """\
CFLAGS := -O2 -g

program: main.o queue.o
	$(CC) -o $@ $^

%.o: %.c queue.h
	$(CC) $(CFLAGS) -c -o $@ $<
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(queue C)
add_executable(program main.c queue.c)
"""
# Objects are made in O, from a configuration of which Kconfig keeps the options that it knows.
KBUILD = """\
IMAGES := arch/x86/boot/bzImage arch/arm64/boot/Image arch/riscv/boot/Image arch/s390/boot/bzImage

bzImage Image: $(addprefix $(O)/,$(IMAGES))
$(addprefix $(O)/,$(IMAGES)): $(O)/vmlinux
	mkdir -p $(@D) && cp $< $@

$(O)/vmlinux: $(O)/init/init_task.o $(O)/main.o $(O)/queue.o
	$(CC) -o $@ $^

$(O)/%.o: %.c queue.h $(O)/autoconf.h
	mkdir -p $(@D) && $(CC) -O2 -g $(KCFLAGS) -include $(O)/autoconf.h -c -o $@ $<

prepare:

tinyconfig:
	printf 'CONFIG_A=y\\nCONFIG_DEBUG_INFO=y\\nCONFIG_BUILD_SALT=""\\n' > $(O)/.config

olddefconfig:
	grep -Ef Kconfig $(O)/.config > $(O)/.new && mv $(O)/.new $(O)/.config
	sed -n 's/^\\(CONFIG_[A-Z_]*\\)=\\(.*\\)/#define \\1 \\2/p' $(O)/.config > $(O)/autoconf.h
"""
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
        """The product to look at."""
        return self.build(variant).product(self.case.product)

    def content(self, variant: Variant) -> bytes:
        """What that product consists of."""
        return self.product(variant).read_bytes()

    def artifacts(self) -> list[str]:
        """The keys that the store has."""
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
