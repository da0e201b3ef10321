// SPDX-License-Identifier: GPL-2.0-or-later
// The trace of a simulation while the guest runs.
#ifndef LINESMITH_TRACING_H
#define LINESMITH_TRACING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "part_file.h"
#include "sites.h"
#include "trace.h"

struct tracing {
  struct trace_writer *writer;  // NULL: no trace was asked for
  struct part_file file;
  pthread_mutex_t lock;  // a forced turn lets several virtual CPUs run at once
};

/** Opens the trace that the options ask for; returns 0 or an errno. */
int tracing_open(struct tracing *tracing, const struct options *options);

/** Begins accesses of `cpu`; false where there is no trace any more. */
bool tracing_begin(struct tracing *tracing, uint32_t cpu);

/** Ends them. */
void tracing_end(struct tracing *tracing);

/** Ends the trace and gives it its name; returns 0 or an errno. */
int tracing_close(struct tracing *tracing, const struct sites *sites);

#endif
