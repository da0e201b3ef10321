// SPDX-License-Identifier: GPL-2.0-or-later
// Counts the instructions of each virtual CPU and says when its slice is over.
#ifndef LINESMITH_SLICES_H
#define LINESMITH_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "coherence.h"

/** One virtual CPU, on a cache line of the host of its own. */
struct slice {
  _Alignas(64) int64_t left;  // instructions before the slice ends
  uint64_t instructions;
  uint64_t slices;
  uint64_t random;
};

struct slices {
  uint64_t quantum;
  struct slice cpus[COHERENCE_MAX_CPUS];
};

/** Slices of about `quantum` guest instructions; `seed` decides how far each is from it. */
void slices_open(struct slices *slices, uint64_t quantum, uint64_t seed);

/** Counts a block of `instructions`; true where the slice of `cpu` is over, and its next one began. */
static inline bool slices_count(struct slices *slices, unsigned cpu, uint64_t instructions);

/** Begins the next slice of a virtual CPU. */
void slices_begin(struct slices *slices, unsigned cpu);

/** Totals over all virtual CPUs. */
uint64_t slices_instructions(const struct slices *slices);
uint64_t slices_ended(const struct slices *slices);

static inline bool slices_count(struct slices *slices, unsigned cpu, uint64_t instructions) {
  struct slice *slice = &slices->cpus[cpu];
  slice->instructions += instructions;
  slice->left -= (int64_t)instructions;
  if (slice->left > 0) return false;
  slices_begin(slices, cpu);
  return true;
}

#endif
