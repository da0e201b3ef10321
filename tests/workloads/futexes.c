// SPDX-License-Identifier: GPL-2.0-or-later
// Futex calls that never sleep, on one word that all workers share.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static void *one_word(int workers) {
  (void)workers;
  uint32_t *word = mmap(NULL, sizeof(*word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (word == MAP_FAILED) fail("mmap");
  return word;
}

static void futex_wake(const struct worker *worker, void *shared) {
  for (long done = 0; done < worker->iterations; ++done)
    if (syscall(SYS_futex, shared, FUTEX_WAKE, 1, NULL, NULL, 0) < 0) fail("futex");
}

// The word holds 0 and not the 1 that is waited on: the kernel queues the worker, looks, and sends it back.
static void futex_wait(const struct worker *worker, void *shared) {
  for (long done = 0; done < worker->iterations; ++done)
    if (syscall(SYS_futex, shared, FUTEX_WAIT, 1, NULL, NULL, 0) != -1 || errno != EAGAIN) fail("futex");
}

const struct workload futex_workloads[] = {
    {.name = "futex_wake", .about = "a wake of nobody", .prepare = one_word, .run = futex_wake},
    {.name = "futex_wait",
     .about = "a wait that finds another value",
     .prepare = one_word,
     .run = futex_wait},
    {0},
};
