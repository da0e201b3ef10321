# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that tests record, compiled on the spot, and what a recording left in its file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from linesmith.analyzer.model import Profile, Recording
from linesmith.plugins.registry import read_profiles

TWO_THREADS = """
#include <pthread.h>
#include <stdatomic.h>
struct counters { atomic_long left, right; };
_Alignas(64) struct counters counters;
static atomic_int arrived;
static void meet(void) { arrived++; while (arrived < 2); }
void unused(void) {}
void *add_left(void *unused) { meet(); for (int i = 0; i < 1000000; i++) counters.left++; return unused; }
void *add_right(void *unused) { meet(); for (int i = 0; i < 1000000; i++) counters.right++; return unused; }
int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, 0, add_left, 0);
    add_right(0);
    pthread_join(thread, 0);
    return argc > 1 ? argv[1][0] - '0' : 0;
}
"""


def compile_c(source: str, executable: Path, *options: str) -> Path:
    """The program made of ``source`` with debug information."""
    file = executable.with_suffix(".c")
    file.write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", executable, file, *options], check=True)
    return executable


def profile_of(file: Path) -> Profile:
    """The one profile in ``file``."""
    (profile,) = read_profiles(file)
    return profile


def recording_of(file: Path) -> Recording:
    """How the profile in ``file`` was recorded."""
    recording = profile_of(file).recording
    assert recording
    return recording


def functions_of(file: Path) -> set[str | None]:
    """Every function that the profile names."""
    return {access.function for line in profile_of(file).lines for access in line.accesses}
