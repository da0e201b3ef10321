// SPDX-License-Identifier: GPL-2.0-or-later
#include "line_table.h"

#include <sched.h>

#include "zero_pages.h"

enum {
  NEIGHBOUR_BITS = 3,      // lines of one aligned group of 8 share a page of the table
  MAX_PROBES = 256,        // slots looked at before the table counts as full
  SPINS_BEFORE_YIELD = 64  // the holder of a lock may be off the processor
};

bool line_table_init(struct line_table *table, uint64_t slots) {
  table->slots = zero_pages_map(slots * sizeof(struct line_slot));
  table->mask = slots - 1;
  atomic_init(&table->used, 0);
  return table->slots != NULL;
}

void line_table_free(struct line_table *table) {
  zero_pages_unmap(table->slots, (table->mask + 1) * sizeof(struct line_slot));
}

// Fibonacci hashing of the group (Knuth, The Art of Computer Programming, volume 3, 6.4).
static uint64_t first_slot(uint64_t line) {
  const uint64_t hash = (line >> NEIGHBOUR_BITS) * UINT64_C(0x9e3779b97f4a7c15);
  return (hash >> 32 ^ hash) << NEIGHBOUR_BITS | (line & ((1u << NEIGHBOUR_BITS) - 1));
}

// Makes a free slot that of `key`; true when it is by now, whoever did it.
static bool claim(struct line_table *table, struct line_slot *slot, uint64_t key) {
  uint64_t seen = 0;
  if (!atomic_compare_exchange_strong_explicit(&slot->key, &seen, key, memory_order_relaxed,
                                               memory_order_relaxed))
    return seen == key;
  atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
  return true;
}

struct line_slot *line_table_slot(struct line_table *table, uint64_t line) {
  const uint64_t key = line + 1;
  const uint64_t start = first_slot(line);
  for (uint64_t probe = 0; probe < MAX_PROBES && probe <= table->mask; ++probe) {
    struct line_slot *slot = &table->slots[(start + probe) & table->mask];
    const uint64_t found = atomic_load_explicit(&slot->key, memory_order_relaxed);
    if (found == key || (found == 0 && claim(table, slot, key))) return slot;
  }
  return NULL;
}

uint32_t line_slot_lock(struct line_slot *slot) {
  for (unsigned spins = 1;; ++spins) {
    const uint32_t state = atomic_fetch_or_explicit(&slot->state, STATE_LOCKED, memory_order_acquire);
    if (!(state & STATE_LOCKED)) return state;
    if (spins % SPINS_BEFORE_YIELD == 0) sched_yield();
  }
}
