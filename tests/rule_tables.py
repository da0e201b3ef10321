# SPDX-License-Identifier: GPL-2.0-or-later
r"""Tables of changes of a struct in C, each with the violations of one rule.

A case is a paragraph; the lines in front of the first one are code that all cases of the table begin with. The first
character of a line says what it is, and indented lines go on with the one before::

    # the name of the test
    @ vmap_area untuned     its name, if not ``subject``; that nobody tuned it; ``program``: of no kernel
    - u64 a, b;             its members before; without such a line there is one build only
    + u64 a, x{0..7}, b;    its members now; what is behind `` | `` follows the brace, ``\n`` begins a line of the file
    ~ struct s one;         code behind the declaration, in both builds
    <, > code               code before the declaration, in the old and in the new build
    ? hot = ["a"]           what is wanted of it, as in linesmith.toml; ``?`` alone begins another entry
    ! WARNING a [b]: text   a violation: severity, member, subject, message
    : advice                its advice, and
    = offset 8 -> 72        its figures, and how many lines behind the struct it is, where the case has such lines
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from hand_made import table

from linesmith.analyzer.intent.reading import intent_in
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.lint.rules.catalogue import LintedBuild, LintedRecord, RecordVersion, rule
from linesmith.analyzer.model import Layout, SlabMachine, TypeIntent, Violation
from linesmith.analyzer.slab.allocation import Kernel

NAMED = "named by --type"
_C = """
#define LINE __attribute__((aligned(64)))
#define FRONT u64 front[8] LINE;
#define BEGIN(name) unsigned char __cacheline_group_begin__##name[0];
#define END(name) unsigned char __cacheline_group_end__##name[0];
#define CACHELINE_PADDING(name) struct cacheline_padding { char x[0]; } LINE name
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;
typedef struct { int counter; } atomic_t;
typedef struct { u64 counter; } atomic_long_t;
struct refcount_struct { atomic_t refs; };
struct spinlock { u32 word; };
struct mutex { u64 word{0..3}; };
struct rw_semaphore { u64 words[5]; };
struct pair { u64 first, second; };
struct kmem_cache { int flags; } any_cache;
"""


KERNEL = Kernel(SlabMachine(cpus=64, release=(6, 12)))


def side(*layouts: Layout) -> LintedBuild:
    """A build with these records, of a Linux 6.12 on 64 CPUs."""
    return LintedBuild(table(*layouts), KERNEL)


def alone(*layouts: Layout, tuned: str = "", intents: tuple[TypeIntent, ...] = ()) -> LintedRecord:
    """The first of the records in one build."""
    return LintedRecord(RecordVersion(layouts[0], side(*layouts)), None, tuned, intents)


def before_and_now(
    old: tuple[Layout, ...], new: tuple[Layout, ...], tuned: str = "", intents: tuple[TypeIntent, ...] = ()
) -> LintedRecord:
    """The first record of each build, the others being what it holds or what holds it."""
    now, before = (RecordVersion(some[0], side(*some)) for some in (new, old))
    return LintedRecord(now, before, tuned, intents, base=before.build)


def broken(name: str, subject: LintedRecord) -> list[Violation]:
    """What the rule called so says of the record, if it is applied to it at all."""
    one = rule(name)
    applied = (subject.tuned or one.untuned) and not (one.pair and subject.before is None)
    return list(one.check(subject)) if applied else []


@dataclass(frozen=True)
class Case:
    """A paragraph of a table."""

    title: str
    before: str
    record: str
    tuned: str
    program: bool
    lines: dict[str, list[str]]
    told: tuple[str, ...]

    def text(self, sign: str) -> str:
        """What its lines with this sign say."""
        return " ".join(self.lines.get(sign, ()))

    @property
    def intents(self) -> tuple[TypeIntent, ...]:
        """What is wanted of the struct."""
        entries = "\n".join(self.lines.get("?", ())).split("\n\n") if "?" in self.lines else []
        head = f'[[type]]\nname = "{self.record}"\nreason = "measured"\n'
        return tuple(intent_in(f"{head}{entry}\n").types[0] for entry in entries)


def cases(table: Path) -> list[ParameterSet]:
    """The rule that the file is called after, and each of its cases, as parameters of a test."""
    before, *paragraphs = re.split(r"^# ", table.read_text(), flags=re.MULTILINE)
    found = [_case(paragraph, before) for paragraph in paragraphs]
    return [pytest.param(table.stem, one, id=f"{table.stem}: {one.title}") for one in found]


def _case(paragraph: str, before: str) -> Case:
    title, *rest = re.sub(r"\n\s+", " ", paragraph).strip().splitlines()
    lines: dict[str, list[str]] = {}
    for line in rest:
        if line[0] not in "@+-~<>?!:=":
            raise ValueError(f"what is this line of a table? {line}")
        lines.setdefault(line[0], []).append(line[2:])
    names = " ".join(lines.get("@", ())).split()
    record = next((one for one in names if one not in ("untuned", "program")), "subject")
    tuned = "" if "untuned" in names else NAMED
    told = tuple(line for line in rest if line[0] in "!:=")
    return Case(title, before, record, tuned, "program" in names, lines, told)


def subject(case: Case, folder: Path) -> LintedRecord:
    """The struct of a case in its builds."""
    sources = {name: _source(case, *signs) for name, signs in (("old", "<-"), ("new", ">+")) if signs[1] in case.lines}
    for name, source in sources.items():
        (folder / f"{name}.c").write_text(source)
    subprocess.run(
        ["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c", *(f"{name}.c" for name in sources)],
        cwd=folder,
        check=True,
    )
    head = _side(folder / "new.o", case)
    base = _side(folder / "old.o", case) if "old" in sources else None
    now = RecordVersion(head.layouts.variants(case.record)[0], head)
    before = RecordVersion(base.layouts.variants(case.record)[0], base) if base else None
    return LintedRecord(now, before, case.tuned, case.intents, base=base)


def changed(folder: Path, old: str, new: str, *more: str) -> LintedRecord:
    """The struct with these members, and with these and other lines of a case."""
    return subject(_case("\n".join(("changed", f"- {old}", f"+ {new}", *more)), ""), folder)


def violations(rule: str, case: Case, folder: Path) -> tuple[str, ...]:
    """What the rule says of a case, as its paragraph has it."""
    change = subject(case, folder)
    return tuple(line for one in broken(rule, change) for line in _lines(one, case, change.layout.line or 0))


def _source(case: Case, before: str, members: str) -> str:
    inside, _, behind = case.text(members).partition(" | ")
    declared = f"struct {case.record} {{ {inside} }} {behind} variable;"
    source = f"{case.before}{case.text(before)}\n{declared} {case.text('~')}\n".replace("\\n", "\n")
    return re.sub(r"(\w*)\{(\d+)\.\.(\d+)\}", _numbered, _C + source)


def _numbered(match: re.Match[str]) -> str:
    return ", ".join(f"{match[1]}{number}" for number in range(int(match[2]), int(match[3]) + 1))


def _side(elf: Path, case: Case) -> LintedBuild:
    return LintedBuild(read_layouts(elf).layouts, KERNEL, slabs=not case.program)


def _lines(found: Violation, case: Case, line: int) -> Iterator[str]:
    record = "" if found.type == f"struct {case.record}" else f" {found.type}"
    member = f" {found.member}" if found.member else ""
    about = f" [{found.subject}]" if found.subject else ""
    yield f"! {found.severity.name}{record}{member}{about}: {found.message}"
    if found.advice and any(line[0] == ":" for line in case.told):
        yield f": {found.advice}"
    if any(one.startswith("= line ") for one in case.told):
        yield f"= line {(found.line or 0) - line}"
    for one in found.figures:
        if any(line.startswith(f"= {one.name} ") for line in case.told):
            yield f"= {one.name} {_number(one.old)} -> {_number(one.new)}"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"
