// SPDX-License-Identifier: GPL-2.0-or-later
// Remembers what QEMU says of the few kinds of access there are: asking it takes two calls.
#ifndef LINESMITH_MEMORY_KINDS_H
#define LINESMITH_MEMORY_KINDS_H

#include <stdatomic.h>

#include "qemu_api.h"

enum { MEMORY_KINDS_BITS = 8, MEMORY_KINDS_SLOTS = 1 << MEMORY_KINDS_BITS };

/** By hash: the kind, then whether it stores, then its width in bytes; a kind takes the slot of another. */
struct memory_kinds {
  _Atomic uint64_t slots[MEMORY_KINDS_SLOTS];
};

enum { MEMORY_KIND_WIDTH = 0xff, MEMORY_KIND_STORES = 0x100, MEMORY_KIND_SHIFT = 16 };

/** MEMORY_KIND_STORES, if it stores, and the width. */
static inline uint32_t memory_kinds_of(struct memory_kinds *kinds, qemu_plugin_meminfo_t info) {
  _Atomic uint64_t *slot = &kinds->slots[info * 0x9e3779b1u >> (32 - MEMORY_KINDS_BITS)];
  uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);
  if (known >> MEMORY_KIND_SHIFT == info && known & MEMORY_KIND_WIDTH) return (uint32_t)known & 0xffff;
  uint32_t told = (1u << qemu_plugin_mem_size_shift(info) & MEMORY_KIND_WIDTH) |
                  (qemu_plugin_mem_is_store(info) ? MEMORY_KIND_STORES : 0);
  atomic_store_explicit(slot, (uint64_t)info << MEMORY_KIND_SHIFT | told, memory_order_relaxed);
  return told;
}

#endif
