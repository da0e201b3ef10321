// SPDX-License-Identifier: GPL-2.0-or-later
#include "slices.h"

// Slices differ by up to an eighth either way, so that no loop of the guest beats with them.
enum { JITTER_SHARE = 4 };

static uint64_t spread(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
  return value ^ value >> 31;
}

void slices_open(struct slices *slices, uint64_t quantum, uint64_t seed) {
  *slices = (struct slices){.quantum = quantum};
  for (unsigned cpu = 0; cpu < COHERENCE_MAX_CPUS; cpu++)
    slices->cpus[cpu].random = spread(seed * COHERENCE_MAX_CPUS + cpu + 1) | 1;
}

static uint64_t next_random(uint64_t *state) {  // xorshift64, Marsaglia 2003
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

void slices_begin(struct slices *slices, unsigned cpu) {
  struct slice *slice = &slices->cpus[cpu];
  uint64_t jitter = slices->quantum / JITTER_SHARE;
  slice->slices++;
  slice->left = (int64_t)(slices->quantum - jitter / 2 + next_random(&slice->random) % (jitter + 1));
}

uint64_t slices_instructions(const struct slices *slices) {
  uint64_t total = 0;
  for (unsigned cpu = 0; cpu < COHERENCE_MAX_CPUS; cpu++) total += slices->cpus[cpu].instructions;
  return total;
}

uint64_t slices_ended(const struct slices *slices) {
  uint64_t total = 0;
  for (unsigned cpu = 0; cpu < COHERENCE_MAX_CPUS; cpu++) total += slices->cpus[cpu].slices;
  return total;
}
