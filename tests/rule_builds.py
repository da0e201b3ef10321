# SPDX-License-Identifier: GPL-2.0-or-later
"""C as it was and as it is, compiled, for tests of rules; with the kernel's words for lines and groups."""

from __future__ import annotations

from pathlib import Path

from c_source import compiled
from rule_cases import KERNEL

from linesmith.analyzer.access import accesses_of, read_accesses
from linesmith.analyzer.dwarf import read_layouts
from linesmith.analyzer.model import TypeIntent
from linesmith.analyzer.rules import Side, Subject

_KERNEL = """
#define __cacheline_aligned __attribute__((aligned(64)))
#define __cacheline_group_begin(name) unsigned char __cacheline_group_begin__##name[0]
#define __cacheline_group_end(name) unsigned char __cacheline_group_end__##name[0]
#define CACHELINE_PADDING(name) struct cacheline_padding { char x[0]; } __cacheline_aligned name
typedef unsigned int u32;
typedef unsigned long u64;
typedef struct { int counter; } atomic_t;
typedef struct { u64 counter; } atomic_long_t;
struct refcount_struct { atomic_t refs; };
struct spinlock { u32 word; };
struct rw_semaphore { u64 words[5]; };
struct kmem_cache { int flags; } any_cache;
"""


def subject(
    folder: Path,
    old: str | None,
    new: str,
    intents: tuple[TypeIntent, ...] = (),
    record: str = "subject",
    around: str = "",
) -> Subject:
    """A struct of this name with these members in two builds, or in one, that counts as tuned.

    ``around`` is code behind the declaration, such as functions that touch the struct's ``variable``.
    """
    head = _build(folder, f"struct {record} {{ {new} }} variable; {around}", "now")
    base = _build(folder, f"struct {record} {{ {old} }} variable; {around}", "before") if old is not None else None
    was = base.layouts.variants(record)[0] if base else None
    return Subject(head.layouts.variants(record)[0], head, was, base, "named by --type", intents)


def _build(folder: Path, source: str, name: str) -> Side:
    elf = compiled(folder, _KERNEL + source, "-O1", name=name)
    layouts = read_layouts(elf).layouts
    return Side(layouts, KERNEL, lambda layout: accesses_of(layout, layouts, read_accesses(elf).accesses))
