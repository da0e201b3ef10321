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
  uint32_t cpu;          // whose slice it is
};

/** Opens the trace that the options ask for; returns 0 or an errno. */
int tracing_open(struct tracing *tracing, const struct options *options);

/** One access of `cpu`, whose slice begins with it where another CPU had the one before. */
void tracing_access(struct tracing *tracing, uint32_t cpu, uint64_t address, uint32_t width,
                    enum coherence_kind kind, uint32_t site);

/** Ends the trace and gives it its name; returns 0 or an errno. */
int tracing_close(struct tracing *tracing, const struct sites *sites);

#endif
