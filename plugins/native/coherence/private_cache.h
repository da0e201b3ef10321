// SPDX-License-Identifier: GPL-2.0-or-later
// The lines that fit into the private cache of one CPU: set-associative, the least recently used goes first.
#ifndef LINESMITH_PRIVATE_CACHE_H
#define LINESMITH_PRIVATE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "line_table.h"

struct private_cache {
  struct line_slot *
      *ways;  // set by set, the most recently used first; NULL: empty. NULL for an infinite cache
  uint32_t ways_per_set;
  uint64_t set_mask;  // sets - 1
  uint64_t own_bit;   // of this CPU in line_slot.holders
};

bool private_cache_init(struct private_cache *cache, uint64_t lines, uint32_t ways, uint32_t cpu);
void private_cache_free(struct private_cache *cache);

// Marks a line as just used. Returns the line that must leave for it, or NULL.
struct line_slot *private_cache_use(struct private_cache *cache, struct line_slot *slot);

#endif
