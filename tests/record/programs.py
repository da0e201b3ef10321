# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that tests record, compiled on the spot."""

from __future__ import annotations

import subprocess
from pathlib import Path

TWO_THREADS = """
#include <pthread.h>
#include <stdatomic.h>
struct counters { atomic_long left, right; };
_Alignas(64) struct counters counters;
static atomic_int arrived;
static void meet(void) { arrived++; while (arrived < 2); }
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
    subprocess.run(["gcc", "-g", "-O1", "-pthread", *options, "-o", executable, file], check=True)
    return executable
