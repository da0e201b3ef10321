// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers the instructions that touch memory, so that a callback carries one pointer and allocates nothing.
#ifndef LINESMITH_SITES_H
#define LINESMITH_SITES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "instruction.h"

/** One instruction; lives as long as the table, across retranslations. */
struct site {
  uint64_t address;
  uint32_t number;
  struct instruction_habit habit;
};

/** A site in the one word that QEMU hands to a callback: there are more sites than caches of the host hold.
 */
static inline uint64_t site_word(const struct site *site) {
  return site->number | (uint64_t)site->habit.atomic << 32 | (uint64_t)site->habit.repeated << 33;
}
static inline uint32_t site_word_number(uint64_t word) { return (uint32_t)word; }
static inline bool site_word_atomic(uint64_t word) { return word >> 32 & 1; }
static inline bool site_word_repeated(uint64_t word) { return word >> 33; }

struct sites {
  pthread_mutex_t lock;  // translation may run on several threads
  struct site *sites;    // by number
  uint64_t *addresses;   // by number
  uint32_t *slots;       // number + 1 by hash; 0: free
  uint32_t count;
  uint64_t dropped;  // translations of instructions that found the table full
};

/** Makes an empty table; false where there is no memory. */
bool sites_open(struct sites *sites);
void sites_close(struct sites *sites);

/** The site of an instruction, made where it is new; NULL where the table is full. */
struct site *sites_find_or_add(struct sites *sites, uint64_t address, struct instruction_habit habit);

#endif
