# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory operands of machine code: one oddity per test, written in C where compilers make it, else in assembly."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from unit.c_records import CLANG

from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.layouts.dwarf import operands

SOURCES = Path(__file__).with_name("sources")
RECORD = "struct s { int a; int b; long c; long d; };\n"
C_SOURCE = f"""{RECORD}
int plain(struct s *s) {{ s->c = 1; s->d += 2; return s->b; }}
void atomic(struct s *s) {{ __atomic_fetch_add(&s->c, 1, 5); __atomic_exchange_n(&s->b, 2, 5); }}
long stack(struct s *s) {{ volatile long x = s->d; return x; }}
int map_a(struct s *s) {{ return s->a; }}
int map_b(struct s *s) {{ return s->b; }}
"""


def built(folder: Path, source: str, *flags: str, compiler: str = "gcc", name: str = "unit.c") -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / name).write_text(source)
    made = folder / "unit.o"
    subprocess.run([compiler, *(flags or ("-O2",)), "-c", "-o", made.name, name], check=True, cwd=folder)
    return made


def seen(path: Path, function: str = "f") -> str:
    """Displacement, width and r, w or rw, with ! when atomic, of every operand."""
    found = {
        (one.displacement, one.width, "r" * one.reads + "w" * one.writes + "!" * one.atomic)
        for one in operands(path, [function])
    }
    return ", ".join(f"{place} {width} {kind}" for place, width, kind in sorted(found)) or "nothing"


def assembled(folder: Path, target: str, functions: dict[str, str]) -> Path:
    """An object with functions of these instructions."""
    head = ".arch armv8.4-a\n" if target == "aarch64" else ""
    text = "".join(
        f".type {name}, %function\n{name}:\n{body}\n.size {name}, .-{name}\n" for name, body in functions.items()
    )
    return built(folder, f".text\n{head}{text}", f"--target={target}-linux-gnu", compiler=CLANG, name="unit.s")


@pytest.mark.parametrize("compiler", ["gcc", CLANG])
def test_loads_stores_updates_and_atomic_builtins_in_c_but_not_the_stack(tmp_path: Path, compiler: str) -> None:
    made = built(tmp_path, C_SOURCE, "-O2", "-fno-stack-protector", compiler=compiler)
    assert seen(made, "plain") == "4 4 r, 8 8 w, 16 8 rw"
    assert seen(made, "atomic") == "4 4 rw!, 8 8 rw!"
    assert seen(made, "stack") == "16 8 r"
    # A prefix reports each function under its own name.
    found = operands(made, [], ["map_"])
    assert [(each.function, each.displacement) for each in found] == [("map_a", 0), ("map_b", 4)]
    made = built(tmp_path, C_SOURCE, "-O0", "-fno-stack-protector", compiler=compiler)
    assert seen(made, "stack") == "16 8 r"


def test_arm64_in_c(tmp_path: Path) -> None:
    made = built(tmp_path, C_SOURCE, "--target=aarch64-linux-gnu", "-O1", compiler=CLANG)
    assert seen(made, "plain") == "4 4 r, 8 8 w, 16 8 r, 16 8 w"


def test_cold_parts_belong_to_their_function(tmp_path: Path) -> None:
    text = RECORD + (
        "__attribute__((cold)) void g(long);\n"
        "int f(struct s *s) { if (__builtin_expect(s->a, 0)) g(s->d); return s->b; }"
    )
    made = built(tmp_path, text)
    symbols = subprocess.run(["nm", made.name], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "f.cold" in symbols
    assert seen(made) == "0 4 r, 4 4 r, 16 8 r"


def test_clones_are_reported_under_the_name_asked_for(tmp_path: Path) -> None:
    assert seen(assembled(tmp_path, "x86_64", {"f.constprop.0": "mov 8(%rdi), %rax"})) == "8 8 r"


@pytest.mark.parametrize("target", ["x86_64", "aarch64"])
def test_direction_of_each_kind_of_instruction(tmp_path: Path, target: str) -> None:
    section = (SOURCES / "instructions.txt").read_text().partition(f"# {target}\n")[2].partition("\n\n")[0]
    expected = [re.split(" +-> ", line) for line in section.splitlines()]
    made = assembled(tmp_path, target, {f"f{number}": one for number, (one, _) in enumerate(expected)})
    assert [[one, seen(made, f"f{number}")] for number, (one, _) in enumerate(expected)] == expected


SEQUENCES = (SOURCES / "sequences.txt").read_text().split("\n# ")[1:]


@pytest.mark.parametrize("case", SEQUENCES, ids=[one.partition("\n")[0] for one in SEQUENCES])
def test_instructions_that_belong_together(tmp_path: Path, case: str) -> None:
    title, *lines, touched = case.strip().split("\n")
    made = assembled(tmp_path, title.partition(":")[0], {"f": "\n".join(lines)})
    assert seen(made) == touched.removeprefix("-> ")


def test_a_debug_file_has_no_code(tmp_path: Path) -> None:
    built(tmp_path, RECORD + "int f(struct s *s) { return s->b; }", "-g")
    subprocess.run(["objcopy", "--only-keep-debug", "unit.o", "unit.debug"], cwd=tmp_path, check=True)
    assert operands(tmp_path / "unit.debug", ["f"]) == ()


def test_a_stripped_program_borrows_the_symbols_of_its_debug_file(tmp_path: Path) -> None:
    text = RECORD + "int f(struct s *s) { return s->b; } int main(void) { return 0; }"
    built(tmp_path, text, "-O2", "-fno-ipa-icf", "-g")
    for command in (
        "gcc unit.o -o program",
        "objcopy --only-keep-debug program program.debug",
        "objcopy --strip-all --add-gnu-debuglink=program.debug program",
    ):
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    assert seen(tmp_path / "program") == "4 4 r"


def test_aliases_are_one_function(tmp_path: Path) -> None:
    text = RECORD + 'int f(struct s *s) { return s->b; } int g(struct s *) __attribute__((alias("f")));'
    found = operands(built(tmp_path, text), ["f", "g"])
    assert [(each.function, each.displacement) for each in found] == [("f", 4), ("g", 4)]


def test_another_machine_has_no_operands_and_what_is_no_elf_file_is_refused(tmp_path: Path) -> None:
    made = built(tmp_path, "int f(int *p) { return p[1]; }", "--target=riscv64-linux-gnu", compiler=CLANG)
    assert operands(made, ["f"]) == ()
    (tmp_path / "text").write_text("no code here")
    with pytest.raises(ElfError, match="not an ELF file"):
        operands(tmp_path / "text", ["f"])


@pytest.mark.real
def test_functions_of_a_kernel(vmlinux: Path) -> None:
    assert "8 8 r" in seen(vmlinux, "rwsem_spin_on_owner").split(", ")
    assert "0 8 rw!" in seen(vmlinux, "down_write").split(", ")
    assert "8 8 r" in seen(vmlinux, "vma_interval_tree_remove").split(", ")
