// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing.h"

#include <errno.h>
#include <string.h>

int tracing_open(struct tracing *tracing, const struct options *options) {
  *tracing = (struct tracing){.lock = PTHREAD_MUTEX_INITIALIZER};
  if (!options->trace) return 0;
  struct trace_settings settings = {.cpus = options->coherence.cpus};
  memcpy(settings.node_of_cpu, options->coherence.node_of_cpu, sizeof settings.node_of_cpu);
  int error = part_file_open(&tracing->file, options->trace);
  if (error) return error;
  tracing->writer = trace_writer_create(tracing->file.stream, &settings, options->trace_bytes);
  return tracing->writer ? 0 : part_file_close(&tracing->file, ENOMEM);
}

bool tracing_begin(struct tracing *tracing, uint32_t cpu) {
  pthread_mutex_lock(&tracing->lock);
  if (!tracing->writer) {  // the guest may end while others still run
    pthread_mutex_unlock(&tracing->lock);
    return false;
  }
  trace_slice(tracing->writer, cpu);
  return true;
}

void tracing_end(struct tracing *tracing) { pthread_mutex_unlock(&tracing->lock); }

int tracing_close(struct tracing *tracing, const struct sites *sites) {
  if (!tracing->writer) return 0;
  pthread_mutex_lock(&tracing->lock);
  int error = trace_writer_finish(tracing->writer, sites->addresses, sites->count);
  tracing->writer = NULL;
  pthread_mutex_unlock(&tracing->lock);
  return part_file_close(&tracing->file, error);
}
