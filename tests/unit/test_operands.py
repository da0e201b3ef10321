# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory operands of machine code: one oddity per test, written in C where compilers make it, else in assembly."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from linesmith.analyzer.dwarf import operands
from linesmith.analyzer.errors import ElfError

CLANG = next((name for name in ("clang-19", "clang") if shutil.which(name)), "clang-19")
RECORD = "struct s { int a; int b; long c; long d; };\n"

Seen = set[tuple[int, int, str]]


def built(folder: Path, source: str, *flags: str, compiler: str = "gcc", name: str = "unit.c") -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (folder / name).write_text(source)
    made = folder / "unit.o"
    subprocess.run([compiler, *(flags or ("-O2",)), "-c", "-o", made.name, name], check=True, cwd=folder)
    return made


def seen(path: Path, function: str = "f") -> Seen:
    """(displacement, width, r/w/rw, with ! when atomic) of every operand."""
    return {
        (each.displacement, each.width, "r" * each.reads + "w" * each.writes + "!" * each.atomic)
        for each in operands(path, [function])
    }


def assembled(folder: Path, *lines: str, target: str = "x86_64", head: str = "") -> Path:
    """A function ``f`` of these instructions."""
    body = "\n".join(("    " + line) for line in lines)
    text = f".text\n{head}\n.globl f\n.type f, %function\nf:\n{body}\n.size f, .-f\n"
    return built(folder, text, f"--target={target}-linux-gnu", compiler=CLANG, name="unit.s")


C_SOURCE = """
struct s { int a; int b; long c; long d; };
int plain(struct s *s) { s->c = 1; s->d += 2; return s->b; }
void atomic(struct s *s) { __atomic_fetch_add(&s->c, 1, 5); __atomic_exchange_n(&s->b, 2, 5); }
long stack(struct s *s) { volatile long x = s->d; return x; }
int map_a(struct s *s) { return s->a; }
int map_b(struct s *s) { return s->b; }
"""


@pytest.mark.parametrize("compiler", ["gcc", CLANG])
def test_loads_stores_updates_and_atomic_builtins_in_c_but_not_the_stack(tmp_path: Path, compiler: str) -> None:
    made = built(tmp_path, C_SOURCE, "-O2", "-fno-stack-protector", compiler=compiler)
    assert seen(made, "plain") == {(4, 4, "r"), (8, 8, "w"), (16, 8, "rw")}
    assert seen(made, "atomic") == {(8, 8, "rw!"), (4, 4, "rw!")}
    assert seen(made, "stack") == {(16, 8, "r")}
    # A prefix reports each function under its own name.
    found = operands(made, [], ["map_"])
    assert [(each.function, each.displacement) for each in found] == [("map_a", 0), ("map_b", 4)]
    made = built(tmp_path, C_SOURCE, "-O0", "-fno-stack-protector", compiler=compiler)
    assert seen(made, "stack") == {(16, 8, "r")}


def test_cold_parts_belong_to_their_function(tmp_path: Path) -> None:
    text = RECORD + (
        "__attribute__((cold)) void g(long);\n"
        "int f(struct s *s) { if (__builtin_expect(s->a, 0)) g(s->d); return s->b; }"
    )
    made = built(tmp_path, text)
    symbols = subprocess.run(["nm", made.name], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "f.cold" in symbols
    assert seen(made) == {(0, 4, "r"), (4, 4, "r"), (16, 8, "r")}


def test_clones_are_reported_under_the_name_asked_for(tmp_path: Path) -> None:
    source = (
        ".text\n.type f.constprop.0, @function\nf.constprop.0: mov 8(%rdi), %rax\n.size f.constprop.0, .-f.constprop.0"
    )
    assert seen(built(tmp_path, source, name="unit.s")) == {(8, 8, "r")}


NO_ACCESSES = {
    "hints": "lea 0x18(%rdi), %rax; nopl 0x20(%rdi); prefetchw 0x28(%rdi); clflush 0x30(%rdi); prefetcht0 (%rdi)",
    "strings": "rep movsq; rep stosb; lodsl; cmpsb",
    "segments and instruction-relative": (
        "mov %gs:8(%rdi), %rax; mov %fs:16(%rdi), %rax; mov 24(%rip), %rax; mov 32(,%rdi,8), %rax"
    ),
}
# Name of the case: instructions, and what they touch.
SEQUENCES: dict[str, tuple[str, Seen]] = {
    **{name: (lines, set()) for name, lines in NO_ACCESSES.items()},
    "segments that the processor ignores": ("notrack jmp *8(%rdi)", {(8, 8, "r")}),
    "the base pointer as a plain register": (
        "push %rbp; push %rbx; sub $8, %rsp; mov %rdi, %rbp; mov 0x10(%rbp), %eax",
        {(16, 4, "r")},
    ),
    "a frame pointer set up late": (
        "cmpl $0, 4(%rdi); je 1f; push %rbp; mov %rsp, %rbp; mov -8(%rbp), %rax; 1: ret",
        {(4, 4, "r")},
    ),
    "bytes that are no instruction": (
        "mov 8(%rdi), %rax; .byte 0x06, 0x06; mov %rax, 16(%rdi)",
        {(8, 8, "r"), (16, 8, "w")},
    ),
    "relocated displacements are addresses": (
        "mov table(%rdi), %eax; movq $table, 8(%rdi); mov 16(%rdi), %eax",
        {(8, 8, "w"), (16, 4, "r")},
    ),
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_instructions_that_belong_together(tmp_path: Path, case: str) -> None:
    lines, expected = SEQUENCES[case]
    assert seen(assembled(tmp_path, *lines.split("; "))) == expected


INSTRUCTIONS: dict[str, Seen] = {
    "cmpl $1, 8(%rdi)": {(8, 4, "r")},
    "testb $1, 8(%rdi)": {(8, 1, "r")},
    "btl $3, (%rdi)": {(0, 4, "r")},
    "cmpxchg %rcx, 8(%rdi)": {(8, 8, "rw")},
    "lock cmpxchg %ecx, 8(%rdi)": {(8, 4, "rw!")},
    "lock cmpxchg16b 16(%rdi)": {(16, 16, "rw!")},
    "lock xadd %rcx, 8(%rdi)": {(8, 8, "rw!")},
    "xchg %cl, -8(%rdi)": {(-8, 1, "rw!")},
    "lock incl 8(%rdi)": {(8, 4, "rw!")},
    "lock decq (%rdi)": {(0, 8, "rw!")},
    "rolw $8, 2(%rdi)": {(2, 2, "rw")},
    "setb 8(%rdi)": {(8, 1, "w")},
    "pop 8(%rdi)": {(8, 8, "w")},
    "push 8(%rdi)": {(8, 8, "r")},
    "call *0x18(%rdi)": {(24, 8, "r")},
    "movups %xmm0, 16(%rdi)": {(16, 16, "w")},
    "movups 16(%rdi), %xmm0": {(16, 16, "r")},
    "vmovdqu %ymm0, 32(%rdi)": {(32, 32, "w")},
    "movnti %rax, 8(%rdi)": {(8, 8, "w")},
    "movbe %eax, 8(%rdi)": {(8, 4, "w")},
    "fstpl 8(%rdi)": {(8, 8, "w")},
    "stmxcsr 8(%rdi)": {(8, 4, "w")},
    "imul 8(%rdi), %rax": {(8, 8, "r")},
    "movl $7, 0x1000(%rdi)": {(4096, 4, "w")},
    "mov 8(%rdi,%rcx,8), %rax": {(8, 8, "r")},
}


def each_alone(folder: Path, instructions: Iterable[str], head: str = "", **target: str) -> dict[str, Seen]:
    """What each instruction touches that is the only one of a function, all of them in one file."""
    text = "".join(
        f".type f{number}, %function\nf{number}: {one}\n.size f{number}, .-f{number}\n"
        for number, one in enumerate(instructions)
    )
    made = assembled(folder, "nop", head=f"{head}\n{text}", **target)
    return {one: seen(made, f"f{number}") for number, one in enumerate(instructions)}


def test_direction_of_each_kind_of_instruction(tmp_path: Path) -> None:
    assert each_alone(tmp_path, INSTRUCTIONS) == INSTRUCTIONS


def test_a_debug_file_has_no_code(tmp_path: Path) -> None:
    built(tmp_path, RECORD + "int f(struct s *s) { return s->b; }", "-g")
    subprocess.run(["objcopy", "--only-keep-debug", "unit.o", "unit.debug"], cwd=tmp_path, check=True)
    assert operands(tmp_path / "unit.debug", ["f"]) == ()


def test_a_stripped_program_borrows_the_symbols_of_its_debug_file(tmp_path: Path) -> None:
    text = RECORD + "int f(struct s *s) { return s->b; } int main(void) { return 0; }"
    made = built(tmp_path, text, "-O2", "-fno-ipa-icf", "-g")
    commands = (
        ["gcc", made.name, "-o", "program"],
        ["objcopy", "--only-keep-debug", "program", "program.debug"],
        ["objcopy", "--strip-all", "--add-gnu-debuglink=program.debug", "program"],
    )
    for command in commands:
        subprocess.run(command, cwd=tmp_path, check=True)
    assert seen(tmp_path / "program") == {(4, 4, "r")}


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


def test_arm64_in_c_and_its_frame_pointer(tmp_path: Path) -> None:
    made = built(tmp_path, C_SOURCE, "--target=aarch64-linux-gnu", "-O1", compiler=CLANG)
    assert seen(made, "plain") == {(4, 4, "r"), (8, 8, "w"), (16, 8, "r"), (16, 8, "w")}
    lines = ("stp x29, x30, [sp, #-32]!", "mov x29, sp", "ldr x0, [x29, #16]", "str x0, [x1, #24]")
    assert seen(assembled(tmp_path, *lines, target="aarch64")) == {(24, 8, "w")}


def test_arm64_relocated_displacements_are_addresses(tmp_path: Path) -> None:
    lines = ("adrp x1, table", "ldr w0, [x1, :lo12:table]", "ldr w2, [x3, #4]")
    assert seen(assembled(tmp_path, *lines, target="aarch64")) == {(4, 4, "r")}


ARM64: dict[str, Seen] = {
    "ldr x0, [x1], #8": {(0, 8, "r")},
    "ldr x0, [x1, #8]!": {(8, 8, "r")},
    "ldur w0, [x1, #-4]": {(-4, 4, "r")},
    "ldrsb w0, [x1, #3]": {(3, 1, "r")},
    "ldrsw x0, [x1, #12]": {(12, 4, "r")},
    "str q0, [x1, #32]": {(32, 16, "w")},
    "ldr x0, [x1, x2, lsl #3]": {(0, 8, "r")},
    "ldp x0, x2, [x1, #16]": {(16, 8, "r"), (24, 8, "r")},
    "stp w0, w2, [x1], #8": {(0, 4, "w"), (4, 4, "w")},
    "ldxr w0, [x1]": {(0, 4, "r!")},
    "stlxr w2, x0, [x1]": {(0, 8, "w!")},
    "ldar w0, [x1]": {(0, 4, "r")},
    "ldadd w0, w2, [x1]": {(0, 4, "rw!")},
    "casal x0, x2, [x1]": {(0, 8, "rw!")},
    "swpb w0, w2, [x1]": {(0, 1, "rw!")},
    "ldapr x0, [x1]": {(0, 8, "r")},
    "ld1 {v0.16b, v1.16b}, [x1]": {(0, 32, "r")},
    "st1 {v0.s}[1], [x1]": {(0, 4, "w")},
    "prfm pldl1keep, [x1, #8]": set(),
    "ldr x0, 8": set(),
    "add x0, x1, #8": set(),
}


def test_arm64_instructions(tmp_path: Path) -> None:
    assert each_alone(tmp_path, ARM64, ".arch armv8.4-a", target="aarch64") == ARM64


@pytest.mark.real
def test_functions_of_a_kernel(vmlinux: Path) -> None:
    assert (8, 8, "r") in seen(vmlinux, "rwsem_spin_on_owner")
    assert (0, 8, "rw!") in seen(vmlinux, "down_write")
    assert (8, 8, "r") in seen(vmlinux, "vma_interval_tree_remove")
