# SPDX-License-Identifier: GPL-2.0-or-later
"""A tiny program whose benchmark tells its layout, so that every run of it has one right outcome.

``queue cost`` prints 200 when head and tail share a cache line and 100 when they do not; ``queue work`` has two
threads write them, to be recorded. They wait for each other every few turns, or a busy machine would let one of them
come to its end before the other begins, and nothing would be contended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from linesmith.analyzer.model import Result, Variant
from linesmith.analyzer.report.excerpt import excerpt
from linesmith.plugins.api import Pool
from linesmith.plugins.registry import executor
from linesmith.tuner.plan_file import plan_in
from linesmith.tuner.tuning.bench import bench
from linesmith.tuner.tuning.progress import Progress, TellProgress
from linesmith.tuner.tuning.run_directory import RunDirectory
from linesmith.tuner.tuning.tune import tune

QUEUE_H = """\
struct queue {
  long head;
  long tail;
  char name[112];
} __attribute__((aligned(64)));
"""
QUEUE_C = """\
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "queue.h"
static struct queue queue;
static pthread_barrier_t both;
#define TURNS 250
static struct {
  int done;
} __attribute__((aligned(64))) turns[2];
static void in_step(int mine) {
  int done = __atomic_add_fetch(&turns[mine].done, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&turns[!mine].done, __ATOMIC_SEQ_CST) < done) sched_yield();
}
static void *push(void *unused) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < 16 * TURNS; i++) {
    __atomic_add_fetch(&queue.head, 1, __ATOMIC_RELAXED);
    if (i % 16 == 15) in_step(0);
  }
  return unused;
}
static void *pull(void *unused) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < 16 * TURNS; i++) {
    __atomic_add_fetch(&queue.tail, 1, __ATOMIC_RELAXED);
    if (i % 16 == 15) in_step(1);
  }
  return unused;
}
int main(int argc, char **argv) {
  pthread_t one, two;
  if (argc > 1 && !strcmp(argv[1], "cost")) {
    printf("cost %d\\n", offsetof(struct queue, head) / 64 == offsetof(struct queue, tail) / 64 ? 200 : 100);
    return 0;
  }
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&one, NULL, push, NULL);
  pthread_create(&two, NULL, pull, NULL);
  return pthread_join(one, NULL) || pthread_join(two, NULL);
}
"""
PLAN = """
[source]
tree = "tree"
command = "cc -g -O1 -pthread -o queue queue.c"
products = ["queue"]

[[benchmark]]
name = "command"
run = "{queue} cost"
pattern = 'cost (\\d+)'

[record]
command = "{queue} work"
metric = "type"

[search]
ladder = ["estimate", "benchmark"]

[judge]
least_blocks = 2
most_blocks = 3
warm_up = 0

[budget]
trials = 4
minutes = 10
"""
# Some seconds on an idle machine: two trials, one of them confirmed.
SHORT = (
    PLAN.replace("most_blocks = 3", "most_blocks = 2")
    .replace("trials = 4", "trials = 2")
    .replace("[search]", "[search]\nconfirm = 1")
)
# What an undisturbed run recorded. Recordings of threads differ by some accesses, and so may what follows from them.
REREAD = SHORT.replace('command = "{queue} work"', 'profile = "undisturbed/profile.json"')
# By name: a plan and a number of workers.
MODES = {
    "benchmark": (SHORT, 1),
    "reread": (REREAD, 1),
    "simulate": (SHORT.replace('"estimate", "benchmark"', '"estimate", "replay", "simulate"'), 2),
}
# The tail moves to the next line, which is what helps.
APART = """\
--- a/queue.h
+++ b/queue.h
@@ -1,5 +1,5 @@
 struct queue {
   long head;
-  long tail;
   char name[112];
+  long tail;
 } __attribute__((aligned(64)));
"""
# Head and tail change places: they still meet.
TOGETHER = """\
--- a/queue.h
+++ b/queue.h
@@ -1,5 +1,5 @@
 struct queue {
-  long head;
   long tail;
+  long head;
   char name[112];
 } __attribute__((aligned(64)));
"""
SYNTAX_ERROR = APART.replace("+  long tail;", "+  long tail tail;")


def project(folder: Path) -> Path:
    """The sources in ``folder/tree``; the folder is that of the plan."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    (tree / "queue.h").write_text(QUEUE_H)
    (tree / "queue.c").write_text(QUEUE_C)
    return folder


def silent(progress: Progress) -> None:
    """Hear what a run says, and say nothing."""


@contextmanager
def at_work(path: Path, folder: Path, workers: int = 1) -> Iterator[tuple[RunDirectory, Pool]]:
    """The run directory at ``path``, begun or gone on with, and workers of this machine."""
    begun = (path / "journal.sqlite").exists()
    run = RunDirectory.open(path) if begun else RunDirectory.create(path, PLAN, folder)
    with run, executor("local").open({"workers": workers}, run.workers) as pool:
        yield run, pool


def benched(
    path: Path, folder: Path, variants: Sequence[Variant], text: str = PLAN, *, hear: TellProgress = silent
) -> Result:
    """The result of ``bench`` in the run directory ``path``."""
    with at_work(path, folder) as (run, pool):
        return bench(plan_in(text, folder), variants, run, pool, hear)


def tuned(path: Path, folder: Path, text: str = PLAN, workers: int = 1, *, hear: TellProgress = silent) -> Result:
    """The result of ``tune`` in the run directory ``path``."""
    with at_work(path, folder, workers) as (run, pool):
        return tune(plan_in(text, folder), run, pool, hear, excerpt)
