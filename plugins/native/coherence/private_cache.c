// SPDX-License-Identifier: GPL-2.0-or-later
#include "private_cache.h"

#include <stdlib.h>
#include <string.h>

bool private_cache_init(struct private_cache *cache, uint64_t lines, uint32_t ways, uint32_t cpu) {
  *cache = (struct private_cache){.ways_per_set = ways, .own_bit = UINT64_C(1) << cpu};
  if (lines == 0) return true;
  cache->set_mask = lines / ways - 1;
  cache->ways = calloc(lines, sizeof *cache->ways);
  return cache->ways != NULL;
}

void private_cache_free(struct private_cache *cache) { free(cache->ways); }

// The way whose place `slot` takes: its own, else one without a valid copy, else the least recently used.
static uint32_t way_for(const struct private_cache *cache, struct line_slot *const *set,
                        const struct line_slot *slot) {
  uint32_t chosen = cache->ways_per_set - 1;
  for (uint32_t way = 0; way < cache->ways_per_set; ++way) {
    if (set[way] == slot) return way;
    if (set[way] == NULL ||
        !(atomic_load_explicit(&set[way]->holders, memory_order_relaxed) & cache->own_bit))
      chosen = way;
  }
  return chosen;
}

struct line_slot *private_cache_use(struct private_cache *cache, struct line_slot *slot) {
  const uint64_t line = atomic_load_explicit(&slot->key, memory_order_relaxed) - 1;
  struct line_slot **set = cache->ways + (line & cache->set_mask) * cache->ways_per_set;
  if (set[0] == slot) return NULL;
  const uint32_t way = way_for(cache, set, slot);
  struct line_slot *leaving = set[way] == slot ? NULL : set[way];
  memmove(set + 1, set, way * sizeof *set);
  set[0] = slot;
  return leaving;
}
