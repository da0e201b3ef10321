// SPDX-License-Identifier: GPL-2.0-or-later
// Writes what a simulation found as a recording, version 2: the text that `linesmith record` reads.
#ifndef LINESMITH_RECORDING_H
#define LINESMITH_RECORDING_H

#include <stdint.h>
#include <stdio.h>

#include "coherence.h"

#ifdef __cplusplus
extern "C" {
#endif

struct recording_setting {
  const char *name;
  const char *value;  // the rest of the row; control characters are written as ?
};

struct recording_count {
  const char *name;
  uint64_t value;
};

enum { RECORDING_CALLERS = 6 };

// How code was reached: where its callers go on, the innermost first; 0 behind the last one that is known.
struct recording_path {
  uint64_t callers[RECORDING_CALLERS];
};

struct recording {
  struct coherence *sim;
  const uint64_t *ips;  // address of the instruction by site; a site beyond `sites` has address 0
  uint32_t sites;
  const struct recording_path *paths;  // by number; number 0 is the way that is not known
  uint32_t path_count;
  char low_space;  // what addresses below 2^63 are: 'u' user virtual, 'p' user physical; above is 'k'
  // Beside those of the simulation (line_bytes, cpus, nodes, cache_bytes, cache_ways, adjacent, plugin):
  const struct recording_setting *settings;
  uint32_t setting_count;
  // Beside those of the simulation (accesses, lines, hits, ..., dropped_lines, dropped_accesses,
  // dropped_pairs):
  const struct recording_count *counts;
  uint32_t count_count;
};

// Writes the recording, rows sorted by line, offset and instruction; rows of sites with one instruction
// address are added up. Returns 0, or an errno: ENOMEM, or why a write failed.
int recording_write(FILE *out, const struct recording *recording);

#ifdef __cplusplus
}
#endif

#endif
