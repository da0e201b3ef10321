# SPDX-License-Identifier: GPL-2.0-or-later
"""A lock whose address is handed to functions: nobody touches the member, yet it is no member that nobody uses."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
from access.programs import compiled
from linesmith_command import linesmith

from linesmith.analyzer.report import access_json

SOURCE = """\
struct mutex { int word; };
struct table { long size; struct mutex size_mutex; long entries; };
void acquire(struct mutex *m);
void release(struct mutex *m);
static inline __attribute__((always_inline)) void size_mutex_lock(struct table *t) { acquire(&t->size_mutex); }
static inline __attribute__((always_inline)) void size_mutex_unlock(struct table *t) { release(&t->size_mutex); }
__attribute__((noinline)) void acquire(struct mutex *m) { __atomic_fetch_add(&m->word, 1, 5); }
__attribute__((noinline)) void release(struct mutex *m) { __atomic_fetch_sub(&m->word, 1, 5); }
void grow(struct table *t) { size_mutex_lock(t); t->size++; size_mutex_unlock(t); }
long peek(struct table *t) { size_mutex_lock(t); long size = t->size; size_mutex_unlock(t); return size; }
void count(struct table *t) { t->entries++; }
"""


def test_who_takes_it_is_told(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE)
    told = linesmith("access", program, "--type", "table", "--member", "size_mutex").stdout.splitlines()
    assert told[-5].endswith("no access known but to some struct mutex")
    assert told[-4:] == [
        "          code that is handed its address is not counted here",
        "          taken by inlined code of 2 functions that touch more of it:",
        "            grow",
        "            peek",
    ]


def test_its_document_has_them_too(tmp_path: Path) -> None:
    program = compiled(tmp_path, SOURCE)
    document = json.loads(
        linesmith("access", program, "--type", "table", "--member", "size_mutex", "--format", "json").stdout
    )
    jsonschema.validate(document, access_json.schema())
    (member,) = document["types"][0]["members"]
    assert (member["alone"], member["takers"]) == ("struct mutex", ["grow", "peek"])
