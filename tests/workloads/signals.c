// SPDX-License-Identifier: GPL-2.0-or-later
// Signals that a worker sends to itself.
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>

#include "workload.h"

static void nothing(int number) { (void)number; }

static void *handler(int workers) {
  (void)workers;
  const struct sigaction action = {.sa_handler = nothing};
  if (sigaction(SIGUSR1, &action, NULL)) fail("sigaction");
  return NULL;
}

static void signal_self(const struct worker *worker, void *shared) {
  (void)shared;
  for (long done = 0; done < worker->iterations; ++done)
    if (raise(SIGUSR1)) fail("raise");
}

const struct workload signal_workloads[] = {
    {.name = "signal_self",
     .about = "a handled signal to the worker itself",
     .prepare = handler,
     .run = signal_self},
    {0},
};
