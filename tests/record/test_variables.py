# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables of recorded programs are named to the member by DWARF alone, of C and of C++, those of threads too."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from linesmith_command import LINESMITH

from linesmith.analyzer.base.elf import ElfFile
from linesmith.analyzer.base.text import cxx_name, with_cxx_names

# What each program counts in; the first two threads use one half, the others the other.
C = r"""
#include <pthread.h>
#define LINE _Alignas(64)
struct slot { long hits, misses; };
struct tail { long first, more[]; };
LINE static struct { int x, y; } unnamed;
LINE static long filestatic[2];
LINE struct slot slots[2];
LINE static struct tail tailed = {1, {2, 3, 4}};
LINE static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct slot own;
LINE static struct slot *volatile lent[4];
static long *inside(void) { LINE static long in_function[2]; return in_function; }
static void *work(void *number) {
    long n = (long)number, half = n & 1;
    lent[n] = &own;
    for (int i = 0; i < 2000; i++) {
        __atomic_fetch_add(half ? &unnamed.x : &unnamed.y, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&filestatic[half], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(half ? &slots[1].hits : &slots[0].misses, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&inside()[half], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&tailed.more[half], 1, __ATOMIC_RELAXED);
        own.hits++;
        if (lent[n ^ 1]) __atomic_fetch_add(&lent[n ^ 1]->misses, 1, __ATOMIC_RELAXED);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
"""
IN_CPP = {
    "_Alignas": "alignas",
    "_Thread_local": "thread_local",
    "struct slot { long hits, misses; };": """
        namespace app { struct slot { long hits, misses; }; template <class T> struct two { T x, y; }; }
        using namespace app;""",
    "LINE static struct { int x, y; } unnamed;": "namespace { LINE app::two<int> unnamed; }",
    "LINE struct slot slots[2];": "namespace app { LINE slot slots[2]; }",
}
EXPECTED = {
    "C": {
        ("unnamed", "global unnamed", "x"),
        ("", "global filestatic[0]", "filestatic[0]"),
        ("", "global in_function[0]", "in_function[0]"),
        ("slot", "global slots[1]", "hits"),
        ("pthread_mutex_t", "global lock", "__data.__lock"),
        ("tail", "global tailed", "more[1]"),
        ("slot", "global own; of a thread", "misses"),
    },
    "C++": {
        ("app::two<int>", "global (anonymous namespace)::unnamed", "x"),
        ("", "global filestatic[0]", "filestatic[0]"),
        ("", "global in_function[0]", "in_function[0]"),
        ("app::slot", "global app::slots[1]", "hits"),
        ("pthread_mutex_t", "global lock", "__data.__lock"),
        ("tail", "global tailed", "more[1]"),
        ("app::slot", "global own; of a thread", "misses"),
    },
}


@pytest.mark.parametrize("language", ["C", "C++"])
def test_variables_are_named_to_the_member_without_drgn(language: str, tmp_path: Path) -> None:
    source = C
    for old, new in IN_CPP.items() if language == "C++" else ():
        source = source.replace(old, new)
    file, program, profile = (tmp_path / name for name in ("program.cc", "program", "profile"))
    file.write_text(source)
    kind = {"C": "c", "C++": "c++"}[language]
    subprocess.run(["g++", "-x", kind, "-g", "-O1", "-pthread", "-o", program, file], check=True)
    (tmp_path / "drgn.py").write_text("raise ImportError('not here')\n")
    without = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*words: str | Path) -> str:
        return subprocess.run([LINESMITH, *words], env=without, check=True, capture_output=True, text=True).stdout

    run("record", "--on", "qemu-user", "-o", profile, "--", program)
    shown = run("hot", program, profile, "--format", "json")
    found = {
        (one["type"], one["origin"], member["path"])
        for line in json.loads(shown)["lines"]
        for one in line["objects"]
        for member in line["members"]
    }
    assert found >= EXPECTED[language]


def test_variables_get_the_names_that_the_source_gives_them(tmp_path: Path) -> None:
    (tmp_path / "unit.cc").write_text(
        "int plain; static int own; namespace app { int jobs; static int L3; namespace inner { int twelve_chars; } }\n"
        "namespace { int hidden; }\n"
        "struct pool { static int size; }; int pool::size;\n"
        "int *all[] = {&own, &app::L3, &hidden};\n"
    )
    subprocess.run(["g++", "-c", "unit.cc"], cwd=tmp_path, check=True)
    with ElfFile(tmp_path / "unit.o") as file:
        names = {cxx_name(one.name) for one in file.symbols().split()[1] if one.size}
    scoped = {"app::jobs", "app::L3", "app::inner::twelve_chars", "pool::size", "(anonymous namespace)::hidden"}
    assert names == {"plain", "own", "all"} | scoped


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN3app5queueIlE4headE", "app::queue::head"),
        ("_ZNK3app4Pool4takeEiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "app::Pool::take"),
        ("_ZN3app4PoolC1Ei.isra.0", "app::Pool::Pool"),
        ("_ZN3app4RingIiLi3ELb1EED2Ev", "app::Ring::~Ring"),
        ("_ZNK3app4PoolltERKS0_", "app::Pool::operator<"),
        ("_ZZN3app3useEiENKUliE_clEi", "app::use::{lambda}::operator()"),
        ("_ZZN3app4Pool4takeEiE4lock", "app::Pool::take::lock"),
    ],
)
def test_a_function_has_the_name_that_people_know(symbol: str, name: str) -> None:
    assert cxx_name(symbol) == name
    assert with_cxx_names(f"held in {symbol}, main") == f"held in {name}, main"


@pytest.mark.parametrize(
    "symbol",
    [
        *("_ZTV4pool", "_ZN9", "_ZL", "_ZN12x", "_ZN3app", "_ZN3app1aI", "_ZN3appcvbEv", "_ZN0E", "_ZL0"),
        *("_Z" + "Z" * 4000, "_ZL\N{ARABIC-INDIC DIGIT THREE}abc", "_ZN" + "9" * 5000),
    ],
)
def test_what_is_no_name_of_cxx_is_left_as_it_is(symbol: str) -> None:
    assert cxx_name(symbol) == symbol
