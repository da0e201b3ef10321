// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "recording.h"

enum { QUANTUM_OUTSIDE = 20000 };

/** The way on which a virtual CPU came to the code that it runs. */
static uint32_t path_of(void *context, uint32_t cpu) {
  struct run *run = context;
  const struct cpu_calls *calls = &run->calls.cpus[cpu];
  return call_paths_number(&run->paths, &calls->halves[calls->upper]);
}

/** Who waits for room in a journal looks asleep, and would lose the turn; so only one thread that drives all
 * has one. */
static enum journal_writers writers(const struct run *run) {
  return run->options.interleave == INTERLEAVE_EXACT ? WRITERS_ONE_THREAD : WRITERS_AT_ONCE;
}

static bool fill(struct run *run, char *problem, size_t problem_bytes) {
  const struct options *options = &run->options;
  run->coherence = coherence_create(&options->coherence);
  if (!run->coherence || !sites_open(&run->sites) || !calls_open(&run->calls) ||
      !call_paths_open(&run->paths) || !journal_open(&run->journal, writers(run), run)) {
    snprintf(problem, problem_bytes, "there is no memory for the simulation; lower max_lines=");
    return false;
  }
  coherence_follow_paths(run->coherence, path_of, run);
  block_shapes_open(&run->shapes);
  slices_open(&run->slices, options->quantum, options->seed);
  slices_open(&run->slices_outside, QUANTUM_OUTSIDE, options->seed);
  turns_open(&run->turns);
  int error = tracing_open(&run->tracing, options);
  if (error)
    snprintf(problem, problem_bytes, "the trace %s cannot be written: %s", options->trace, strerror(error));
  follow_open(run);
  return !error;
}

struct run *run_create(const struct options *options, const struct guest *guest, char *problem,
                       size_t problem_bytes) {
  // Not calloc: the counters of each virtual CPU want lines of their own.
  struct run *run = aligned_alloc(_Alignof(struct run), sizeof *run);
  if (!run) {
    snprintf(problem, problem_bytes, "there is no memory for the simulation");
    return NULL;
  }
  memset(run, 0, sizeof *run);
  run->options = *options;
  run->guest = *guest;
  if (fill(run, problem, problem_bytes)) return run;
  run_destroy(run);
  return NULL;
}

void run_destroy(struct run *run) {
  if (run->coherence) coherence_destroy(run->coherence);
  sites_close(&run->sites);
  calls_close(&run->calls);
  call_paths_close(&run->paths);
  free(run);
}

void run_disown(struct run *run) {
  run->forked = true;
  run->tracing.writer = NULL;
  journal_disown(&run->journal);
  run->sites.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  run->calls.lock = run->paths.lock = run->shapes.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  turns_open(&run->turns);
}

enum { SETTINGS = 6, COUNTS = 13 };

static void list_settings(const struct run *run, const char *quantum,
                          struct recording_setting settings[SETTINGS]) {
  const struct options *options = &run->options;
  bool arm = run->guest.set == INSTRUCTION_AARCH64;
  const struct recording_setting list[SETTINGS] = {
      {"mode", run->guest.system ? "system" : "user"},
      {"target", arm ? "aarch64" : "x86_64"},
      {"ring", ring_word(options->ring)},
      {"interleave", interleave_word(options->interleave)},
      {"quantum", quantum},
      {"region", region_word(options->region)},
  };
  memcpy(settings, list, sizeof list);
}

static void list_counts(const struct run *run, struct recording_count counts[COUNTS]) {
  struct trace_counts trace = {0};
  if (run->tracing.writer) trace = trace_writer_counts(run->tracing.writer);
  const struct recording_count list[COUNTS] = {
      {"instructions", slices_instructions(&run->slices)},
      {"slices", slices_ended(&run->slices)},
      {"forced_passes", run->turns.forced},
      {"regions", run->regions},
      {"open_regions", run->region != REGION_OUTSIDE},
      {"sites", run->sites.count},
      {"dropped_sites", run->sites.dropped},
      {"dropped_cpus", run->foreign},
      {"dropped_paths", run->paths.dropped},
      {"trace_seen", trace.seen},
      {"trace_events", trace.events},
      {"trace_bytes", trace.bytes},
      {"dropped_trace", trace.dropped},
  };
  memcpy(counts, list, sizeof list);
}

/** What addresses of the lower half are: those of a machine are told apart by their physical address. */
static char low_space(const struct guest *guest) { return guest->system ? 'p' : 'u'; }

int run_write(struct run *run) {
  follow_settle(run);
  struct recording_setting settings[SETTINGS];
  struct recording_count counts[COUNTS];
  char quantum[24];
  snprintf(quantum, sizeof quantum, "%" PRIu64, run->options.quantum);
  list_settings(run, quantum, settings);
  list_counts(run, counts);
  struct recording recording = {.sim = run->coherence,
                                .ips = run->sites.addresses,
                                .sites = run->sites.count,
                                .paths = run->paths.paths,
                                .path_count = run->paths.count,
                                .low_space = low_space(&run->guest),
                                .settings = settings,
                                .setting_count = SETTINGS,
                                .counts = counts,
                                .count_count = COUNTS};
  struct part_file file;
  int error = part_file_open(&file, run->options.out);
  if (error) return error;
  return part_file_close(&file, recording_write(file.stream, &recording));
}
